/** What `@lastcall/timeout/redlock` offers: a lock around each change of a subject, in Redis. */
export type { RedlockLockOptions } from './locks/redlock-options';
export { RedlockLock } from './locks/redlock.lock';
