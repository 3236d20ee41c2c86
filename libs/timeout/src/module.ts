// `@lastcall/timeout/internal/module`: what needs Nest, which takes long to load; the rest is in index.ts.
export { DeadlineHandler as HostDeadlineHandler } from './host/deadline-handler.decorator';
export type { HostTx } from './host/host-handler';
export { assertLoadedAtBoot } from './host/loaded-at-boot';
export { onlyMadeOnce } from './host/scoped-options';
export { runtimeToken } from './host/timeout.module';
export { TimeoutRuntime } from './host/timeout-runtime';
export { Timeouts } from './host/timeouts';
export { HandlesDeadline, TimeoutCoreModule, type TimeoutCoreOptions } from './timeout-core.module';
