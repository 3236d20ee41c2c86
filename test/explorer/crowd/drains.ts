import { type Claimant, type DeadlineHandler, TimeoutService } from '@app/timeout';
import { drainDefaults } from '../../../libs/timeout/src/draining/drain-options';
import { OthersWait } from '../../../libs/timeout/src/draining/others-wait';
import { Pace, paceDefaults } from '../../../libs/timeout/src/draining/pace';
import type { Scheduler } from '../scheduler';
import { HandlerBug } from './handler-bug';
import type { Mood } from './mood';

/** Small ones, so that a crowd takes several, by several drainers. */
export const BATCH = 40;
/** Whose first failure counts for all that it may have: programs have no time for eight. */
const MOST_FAILURES = 1;
/** The kind of which a release has a bug. */
const BUGGY_KIND = 'payment';

/**
 * Drains as they are, of small batches, each of which takes as long as the program says, so that a
 * pace does not depend on this machine's. What they ask others, and their handlers, are in its mood.
 */
export function instrumentDrains(mood: Mood, scheduler: Scheduler): void {
  Object.assign(drainDefaults, { maxFailures: MOST_FAILURES });
  instrumentHandlers(mood);
  instrumentOthersWait(mood, scheduler);
  instrumentPace(mood);
}

function instrumentHandlers(mood: Mood): void {
  const { handle } = TimeoutService.prototype;
  TimeoutService.prototype.handle = function (this: TimeoutService, kind, handler) {
    const played = new Proxy(handler, {
      get(target, name) {
        if (name === 'maxBatch') return Math.min(target.maxBatch, BATCH);
        const own: unknown = Reflect.get(target, name, target);
        if (kind === BUGGY_KIND && name === 'whole') return target.whole && failing(target.whole);
        if (kind === BUGGY_KIND && name === 'handle') return failing(target).handle;
        return typeof own === 'function' ? (own.bind(target) as unknown) : own;
      },
    });
    return handle.call(this, kind, played);
  };
  type Handles = Pick<DeadlineHandler, 'handle'> | NonNullable<DeadlineHandler['whole']>;
  /** With the bug it throws after all its work, so that there is something to be undone. */
  const failing = <Handler extends Handles>(handler: Handler): Handler => ({
    ...handler,
    handle: async (...args: [never, never, Claimant]) => {
      const result = await handler.handle(...args);
      if (mood.bug === 'out') throw new HandlerBug();
      return result;
    },
  });
}

function instrumentOthersWait(mood: Mood, scheduler: Scheduler): void {
  const { get } = Object.getOwnPropertyDescriptor(OthersWait.prototype, 'ms') as {
    get: (this: OthersWait) => number;
  };
  const ask = (): Promise<number> =>
    scheduler.step('asks how others wait', async () => mood.othersWaitMs);
  Object.defineProperty(OthersWait.prototype, 'ms', {
    get(this: OthersWait) {
      Object.assign(this, { ask });
      return get.call(this);
    },
  });
}

/** Keeps account of what is lent for the sake of others, beside the pace's own. */
function instrumentPace(mood: Mood): void {
  const { took, claimed, caughtUp } = Pace.prototype;
  const accounts = new WeakMap<Pace, { lagMs: number; restedMs: number }>();
  const accountOf = (pace: Pace): { lagMs: number; restedMs: number } => {
    const account = accounts.get(pace) ?? { lagMs: 0, restedMs: 0 };
    accounts.set(pace, account);
    return account;
  };
  Pace.prototype.took = function (this: Pace, plan, size) {
    const account = accountOf(this);
    account.restedMs += plan.restMs;
    const lentMs = paceDefaults.yieldShare * account.lagMs + paceDefaults.targetBatchMs;
    if (account.restedMs > lentMs) {
      mood.faults.push(`${account.restedMs} ms of rest for a backlog ${account.lagMs} ms late`);
    }
    took.call(this, plan, size, mood.batchTakesMs);
  };
  Pace.prototype.claimed = function (this: Pace, oldestLagMs) {
    const account = accountOf(this);
    account.lagMs = Math.max(account.lagMs, oldestLagMs);
    claimed.call(this, oldestLagMs);
  };
  Pace.prototype.caughtUp = function (this: Pace) {
    accounts.delete(this);
    caughtUp.call(this);
  };
}
