import { type BenchProcess, startCompetitor, startLastcall } from './processes';
import type { World } from './world';
import type { CpuSeconds } from './cpu';
import type { CloseTimes } from './orders-table';

export interface Way {
  readonly name: string;
  readonly whose: 'ours' | 'plain' | 'batch';
  /** The share of the orders that it is given: where each is a transaction, fewer tell as well. */
  readonly share: number;
  /** It has closed nothing before. */
  readonly isFresh?: boolean;
  /** Hands every order to a timer before it is ready. */
  readonly armsEach: boolean;
  /** Of a peer's batch mode: what it is tried with before it is compared. */
  readonly tunings?: readonly (readonly string[])[];
  start(world: World, tuning?: readonly string[]): Promise<BenchProcess>;
}

export interface BurstRun extends CloseTimes {
  readonly orders: number;
  readonly cpu: CpuSeconds;
}

/** What was measured, a place for each round. */
export interface BurstRuns {
  readonly ways: ReadonlyMap<Way, readonly BurstRun[]>;
  readonly turns: readonly Turn[];
  readonly tuned: readonly Tuned[];
}

/**
 * Orders a second within two minutes: of lastcall, of the SQL alone with each size of batch, and of the
 * peer whose batch mode is the fastest.
 */
export interface Turn {
  readonly ours: number;
  readonly limits: readonly number[];
  readonly batch: number | undefined;
}

/** How a peer's batch mode was tried: each setting, and its orders a second. */
export interface Tuned {
  readonly way: Way;
  readonly tried: readonly { readonly tuning: readonly string[]; readonly perSecond: number }[];
  readonly best: readonly string[];
}

const ours = (
  name: string,
  share: number,
  settings: Readonly<Record<string, string>> = {},
): Way => ({
  ...{ name, share, whose: 'ours', armsEach: settings.TIMER_GRANULARITY === 'order' },
  start: (world) => startLastcall(world, { settings: { ROLES: 'worker', ...settings } }),
});

const PLAIN_SHARE = 0.1;
const plain = (name: string, program: string, ...args: readonly string[]): Way => ({
  ...{ name, share: PLAIN_SHARE, whose: 'plain', armsEach: true },
  start: (world) => startCompetitor(world, program, args),
});

const batch = (name: string, program: string, tunings: Way['tunings'] & object): Way => ({
  ...{ name, share: 1, whose: 'batch', armsEach: true, tunings },
  start: (world, tuning = tunings[0] ?? []) => startCompetitor(world, program, tuning),
});

export const OURS = 'lastcall (slots)';
export const OURS_FRESH = 'lastcall (slots), started just before';
export const OURS_SMALL = 'lastcall (slots), a tenth of the orders';

export const OURS_WAY = ours(OURS, 1);

export const WAYS: readonly Way[] = [
  OURS_WAY,
  { ...ours(OURS_FRESH, 1), isFresh: true },
  ours(OURS_SMALL, PLAIN_SHARE),
  ours('lastcall (one alarm an order)', 1, { TIMER_GRANULARITY: 'order' }),
  plain('BullMQ, a job, a lock and a transaction an order', 'bullmq'),
  plain('pg-boss, a transaction an order', 'pg-boss'),
  batch('pg-boss, batch fetch and batch SQL', 'pg-boss', [
    ['--batch=1000', '--closers=2', '--poll=100'],
    ['--batch=5000', '--closers=2', '--poll=100'],
    ['--batch=2000', '--closers=4', '--poll=100'],
  ]),
  plain('graphile-worker, a transaction an order', 'graphile-worker'),
  batch('graphile-worker, batch jobs', 'graphile-worker', [
    ['--batch=500', '--closers=2', '--poll=100'],
    ['--batch=2000', '--closers=2', '--poll=100'],
    ['--batch=5000', '--closers=2', '--poll=100'],
    ['--batch=2000', '--closers=2', '--poll=100', '--queue=4'],
    ['--batch=500', '--closers=20', '--poll=100'],
  ]),
  // By its usual 1 s and with 100 at once it would begin 100 a second.
  plain('DBOS, a delayed workflow an order', 'dbos', '--closers=500', '--poll=100'),
  plain('DBOS, a sleeping workflow an order', 'dbos', '--sleep'),
  batch('DBOS, a delayed workflow for many orders', 'dbos', [
    ['--batch=500', '--closers=2', '--poll=100'],
    ['--batch=2000', '--closers=2', '--poll=100'],
    ['--batch=5000', '--closers=2', '--poll=100'],
    ['--batch=500', '--closers=10', '--poll=100'],
  ]),
  plain('cron poll, one by one', 'cron-poll'),
];
