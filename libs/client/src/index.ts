export type * from './api';
export { createClient, type Client, type ClientOptions, type KeyedOptions } from './client';
export { type CallOptions, ProblemError } from './http';
export type { Countdown } from './countdown';
