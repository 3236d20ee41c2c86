/** What `@lastcall/timeout/redlock` offers: a lock around each change of a subject, in Redis. */
export { RedlockLock, type RedlockLockOptions } from './locks/redlock.lock';
