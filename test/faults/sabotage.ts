/*
 * What the product must never have: a skewed clock, a lock that holds nothing, alarms that vanish. Imported before
 * the product by faulty-main.ts, and told what to do by the environment. Whatever is in another's place says so
 * once the product has come to it: a sabotage that does not take hold shows nothing.
 */
import { NoopLock, RedlockLock } from '@app/timeout';
import { PostgresQueryRunner } from 'typeorm/driver/postgres/PostgresQueryRunner.js';
import { MemoryDriver } from '../../libs/timeout/src/drivers/memory/memory.driver';
import { RedlockHolds } from '../../libs/timeout/src/locks/redlock-holds';
import { REDLOCK_DEFAULTS } from '../../libs/timeout/src/locks/redlock-options';

const {
  CLOCK_SKEW_MS = '0',
  CLOCK_STEP_MS = '0',
  LOCK_TTL_MS,
  LOCK,
  EARLY_IDS,
  NO_ALARMS,
} = process.env;

/** So many transactions wait; with all of them nobody would overtake anybody. */
const EARLY_SHARE = 0.25;

const said = new Set<string>();

/** Once each: the row looks for it in the log. */
function sabotaged(what: string): void {
  if (said.has(what)) return;
  said.add(what);
  console.log(`sabotaged: ${what}`);
}

let skewMs = Number(CLOCK_SKEW_MS);
const RightDate = Date;

if (skewMs !== 0 || CLOCK_STEP_MS !== '0') {
  const nowMs = (): number => {
    sabotaged(`the clock is off by ${skewMs} ms`);
    return RightDate.now() + skewMs;
  };
  globalThis.Date = new Proxy(RightDate, {
    construct: (target, args: [], newTarget: typeof Date) =>
      Reflect.construct(target, args.length === 0 ? [nowMs()] : args, newTarget) as Date,
    get: (target, name, receiver): unknown =>
      name === 'now' ? nowMs : Reflect.get(target, name, receiver),
  });
  // The clock steps when it is told to.
  process.on('SIGUSR2', () => (skewMs += Number(CLOCK_STEP_MS)));
}

if (LOCK_TTL_MS) {
  Object.assign(REDLOCK_DEFAULTS, { ttlMs: Number(LOCK_TTL_MS), extendForMs: 0 });
  const { acquire } = RedlockHolds.prototype;
  RedlockHolds.prototype.acquire = function (tag, keys, ttlMs, asBatch) {
    sabotaged(`locks live for ${ttlMs} ms`);
    return acquire.call(this, tag, keys, ttlMs, asBatch);
  };
}

if (NO_ALARMS) {
  MemoryDriver.prototype.arm = async () => sabotaged('no alarms');
}

if (EARLY_IDS) {
  // Each transaction has its id, and some then wait: so of two that want one order the later may be older.
  const { startTransaction } = PostgresQueryRunner.prototype;
  PostgresQueryRunner.prototype.startTransaction = async function (...args) {
    sabotaged('transactions have their ids early');
    await startTransaction.apply(this, args);
    await this.query('SELECT pg_current_xact_id()');
    const waits = Math.random() < EARLY_SHARE;
    if (waits) await new Promise((resolve) => setTimeout(resolve, Number(EARLY_IDS)));
  };
}

if (LOCK === 'none') {
  const none = (keys: readonly string[]) => {
    sabotaged('there are no locks');
    return new NoopLock().acquireFree(keys);
  };
  RedlockLock.prototype.acquireFree = (keys) => none(keys);
  RedlockLock.prototype.acquireFreeOf = (prefix, { each }) =>
    none(each.map((id) => `${prefix}${id}`));
  RedlockLock.prototype.acquireOne = (key) => none([key]);
}
