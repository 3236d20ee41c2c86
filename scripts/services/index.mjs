/** @typedef {import('./service.mjs').Service} Service */

export { startPostgres } from './postgres.mjs';
export { createApplicationUser } from './application-user.mjs';
export { startRedis } from './redis.mjs';
export { findRedisBinary } from './redis-binary.mjs';
export { startThrowawayServices } from './throwaway.mjs';
export { freePort } from './ports.mjs';
export { isAlive } from './processes.mjs';
