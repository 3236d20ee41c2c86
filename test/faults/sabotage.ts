/*
 * What the product must never have: a skewed clock, a lock that holds nothing. Imported before
 * the product by faulty-main.ts, and told what to do by the environment.
 */
import { NoopLock, RedlockLock } from '@app/timeout';
import { REDLOCK_DEFAULTS } from '../../libs/timeout/src/locks/redlock.lock';

const { CLOCK_SKEW_MS = '0', CLOCK_STEP_MS = '0', LOCK_TTL_MS, LOCK } = process.env;

let skewMs = Number(CLOCK_SKEW_MS);
const RightDate = Date;

if (skewMs !== 0 || CLOCK_STEP_MS !== '0') {
  const nowMs = (): number => RightDate.now() + skewMs;
  globalThis.Date = new Proxy(RightDate, {
    construct: (target, args: [], newTarget: typeof Date) =>
      Reflect.construct(target, args.length === 0 ? [nowMs()] : args, newTarget) as Date,
    get: (target, name, receiver): unknown =>
      name === 'now' ? nowMs : Reflect.get(target, name, receiver),
  });
  // The clock steps when it is told to.
  process.on('SIGUSR2', () => (skewMs += Number(CLOCK_STEP_MS)));
}

if (LOCK_TTL_MS) Object.assign(REDLOCK_DEFAULTS, { ttlMs: Number(LOCK_TTL_MS), extendForMs: 0 });

if (LOCK === 'none') {
  const none = new NoopLock();
  RedlockLock.prototype.acquireFree = (keys) => none.acquireFree(keys);
  RedlockLock.prototype.acquireOne = (key) => none.acquireOne(key);
}
