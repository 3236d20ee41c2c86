import {
  type BurstRun,
  type BurstRuns,
  OURS,
  OURS_SMALL,
  type Tuned,
  type Way,
} from './burst-ways';
import { cpuMicrosEach } from './cpu';
import { LIMIT_BATCHES } from './limit';
import {
  CPU_COLUMNS,
  cpuCells,
  cpuGoal,
  type Findings,
  type Goal,
  ratioGoal,
  type Table,
} from './question';
import { medianOf } from './statistics';

/** What needs servers that this machine has not, or a later Node. */
const QUOTED =
  'pg-boss is 10.4.2, the last that runs on the oldest Node that lastcall does (12.38.0 of 2026-10-13 is current). Not run: Restate (server 1.7.12 and SDK 1.17.2 are current on 2026-11-21), of which a review has measured ' +
  '35,887 orders/s in batches where lastcall did 43,297/s, on the same machine with versions that were not kept; ' +
  'agenda (6.2.6 of 2026-07-30), a job an order in MongoDB.';

export function burstFindings({ ways, turns, tuned }: BurstRuns): Findings {
  const rows = [...ways].map(([way, runs]) => ({ way, runs, ...summaryOf(runs) }));
  const limits = LIMIT_BATCHES.map((batch, at) => ({
    batch,
    perSecond: medianOf(turns, (one) => one.limits[at] ?? NaN),
  }));
  const best = Math.max(...limits.map(({ perSecond }) => perSecond));
  return {
    tables: [
      {
        title: 'Orders due at the same instant: status, event, stock of two lines, durable',
        columns: [
          ...['way', 'orders', 'orders/s', 'first, ms', 'p50, ms', 'p99, ms', 'last, ms'],
          ...CPU_COLUMNS,
        ],
        rows: [
          ...rows.map((row) => [
            row.way.name,
            row.orders,
            ...[row.perSecond, row.firstMs, row.p50Ms, row.p99Ms, row.lastMs].map(Math.round),
            ...cpuCells(row.cpu, row.orders),
          ]),
          ...limits.map(({ batch, perSecond }) => [
            `the limit: the batch SQL in a procedure, ${batch.toLocaleString('en-US')} a batch`,
            rows[0]?.orders ?? 0,
            Math.round(perSecond),
            ...Array<string>(4 + CPU_COLUMNS.length).fill(''),
          ]),
        ],
        note: `Orders/s counts from the deadline to the last commit; lag is that of the commit, by \`pg_xact_commit_timestamp\`. A transaction an order is as slow with fewer orders, so those ways get a tenth. Each way has closed 6,000 orders (or a tenth of them) three seconds before, the SQL alone as well, as in a shop that is open; where it says so, none. In ${turns.length} turns lastcall was followed by the SQL alone and by the fastest batch mode: the ratios to these are theirs. ${QUOTED}`,
      },
      ...(tuned.length > 0 ? [tuningTable(tuned)] : []),
    ],
    charts: [
      {
        name: 'burst',
        title: 'Closing orders that are all due at once',
        kind: 'bars',
        xTitle: 'way',
        yTitle: 'orders per second',
        points: [
          ...rows.map((row) => ({ series: 'orders/s', x: row.way.name, y: row.perSecond })),
          { series: 'orders/s', x: 'the limit (SQL alone)', y: best },
        ],
      },
    ],
    goals: goals({ ways, turns }),
  };
}

function summaryOf(runs: readonly BurstRun[]) {
  return {
    orders: runs[0]?.orders ?? 0,
    perSecond: medianOf(runs, (run) => run.perSecond),
    firstMs: medianOf(runs, (run) => run.firstMs),
    p50Ms: medianOf(runs, (run) => run.p50Ms),
    p99Ms: medianOf(runs, (run) => run.p99Ms),
    lastMs: medianOf(runs, (run) => run.lastMs),
    cpu: {
      node: medianOf(runs, (run) => run.cpu.node),
      postgres: medianOf(runs, (run) => run.cpu.postgres),
      redis: medianOf(runs, (run) => run.cpu.redis),
    },
  };
}

function tuningTable(tuned: readonly Tuned[]): Table {
  return {
    title: 'How each batch mode was tuned before it was compared',
    columns: ['way', 'tried with', 'orders/s', 'taken'],
    rows: tuned.flatMap(({ way, tried, best }) =>
      tried.map(({ tuning, perSecond }) => [
        way.name,
        tuning.map((one) => one.replace('--', '')).join(', '),
        Math.round(perSecond),
        tuning === best ? 'yes' : '',
      ]),
    ),
    note: 'Orders a transaction, transactions at once, and how often it looks (ms), with 20,000 orders, once each.',
  };
}

/** Each round's ratio by itself: what is compared was measured within minutes. */
function goals({ ways, turns }: Pick<BurstRuns, 'ways' | 'turns'>): Goal[] {
  const speedsOf = (which: (way: Way) => boolean): number[][] =>
    [...ways].flatMap(([way, runs]) => (which(way) ? [runs.map((run) => run.perSecond)] : []));
  const bestOf = (all: readonly (readonly number[])[]): number[] =>
    (all[0] ?? []).map((_, round) => Math.max(...all.map((one) => one[round] ?? 0)));
  const [ours = []] = speedsOf(({ name }) => name === OURS);
  const [small = []] = speedsOf(({ name }) => name === OURS_SMALL);
  const ratios = (to: readonly number[], of: readonly number[] = ours): number[] =>
    of.map((one, round) => one / (to[round] ?? NaN));
  const runs = [...ways].find(([{ name }]) => name === OURS)?.[1] ?? [];
  const plain = bestOf(speedsOf(({ whose }) => whose === 'plain'));
  const micros = medianOf(runs, ({ cpu, orders }) => cpuMicrosEach(cpu, orders));
  return [
    ratioGoal(
      'of the bare SQL at its best batch size: 0.80',
      turns.map((one) => one.ours / Math.max(...one.limits)),
      {
        least: 0.8,
      },
    ),
    ...(plain.length === 0
      ? []
      : [
          ratioGoal('the best peer used plainly: 45 times', ratios(plain), { least: 45 }),
          ratioGoal(
            'the best tuned batch mode: 1.6 times',
            turns.map(({ ours, batch }) => ours / (batch ?? NaN)),
            { least: 1.6 },
          ),
        ]),
    ratioGoal(
      'a tenth of the orders, against all of them: 0.42 of the speed',
      ratios(ours, small),
      {
        least: 0.42,
      },
    ),
    cpuGoal('an order closed', micros, 18),
  ];
}
