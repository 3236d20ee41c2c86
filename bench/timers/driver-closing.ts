import type { TimerDriverKind } from '@app/timeout';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { groupSeconds } from '../cpu';
import { assertClosedCompletely, fillPendingOrders, fillProducts, settle } from '../orders-table';
import { type BenchProcess, startLastcall, startProgram } from '../processes';
import type { BenchOptions, Cell, Question } from '../question';
import { createWorld, type World } from '../world';
import { askedKinds, isAsked, type Subject, THEIR_SUBJECTS } from './subjects';
import { STORES, TimerStore } from './timer-store';

const PER_SECOND = 1_000;
const SECONDS = 10;
const HERD = 100_000;
const QUICK_HERD = 1_000;
/** Until the first is due: a worker starts, and arms one alarm for each order where it is told to. */
const LEAD_S = { slots: 12, order: 50, quick: 8 };
/** Between the last of the even ones and the herd. */
const GAP_S = 5;
/** To write a herd down, with its history and stock, and to settle it. */
const FILL_S = 20;
/** More a second than it can start would only measure its queue. */
const DBOS_PER_SECOND = 200;
const LIMIT_MS = 240_000;
const LOOK_MS = 250;
const NEVER = new Date('9999-01-01');

interface Lag {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

interface Closed {
  readonly even: Lag;
  readonly herd: Lag | undefined;
  /** Of Node, the servers and the broker, for an order. */
  readonly cpuMicros: number;
  readonly left: Left;
}

/** When the time is over. */
interface Left {
  readonly open: number;
  /** Stock movements that no product row has seen yet. */
  readonly unfolded: number;
}

interface Plan {
  readonly perSecond: number;
  readonly seconds: number;
  readonly herd: number;
  readonly leadS: number;
  readonly store: string | undefined;
  start(env: Readonly<Record<string, string>>, world: World): Promise<BenchProcess>;
}

/** The whole of it: a worker of the product closes orders in Postgres, by slots and by an alarm each. */
export const driverClosing: Question = {
  name: 'drivers-closing',
  asks: 'How late are orders closed with each timer driver, with slots and with one alarm an order?',
  async answer(options) {
    const herd = options.orders ?? (options.quick ? QUICK_HERD : HERD);
    const seconds = options.quick ? 2 : SECONDS;
    const ours: Cell[][] = [];
    const kinds = askedKinds(options);
    for (const kind of options.quick ? kinds.slice(0, 1) : kinds) {
      for (const granularity of ['100ms', 'order']) {
        const name = `${kind.name}, ${granularity === 'order' ? 'one alarm an order' : 'slots'}`;
        const leadS = LEAD_S[options.quick ? 'quick' : granularity === 'order' ? 'order' : 'slots'];
        const size = { perSecond: options.quick ? 50 : PER_SECOND, seconds, herd, leadS };
        const closed = await close({ ...size, ...workerOf(kind, granularity) }, options);
        ours.push([name, ...cellsOf(closed)]);
        options.say(`${name}: ${ours.at(-1)?.slice(1).join(', ')}`);
      }
    }
    const theirs: Cell[][] = [];
    const subjects = THEIR_SUBJECTS.filter(isAsked(options));
    for (const subject of options.quick ? subjects.slice(0, 1) : subjects) {
      const most = subject.name.startsWith('DBOS') ? DBOS_PER_SECOND : PER_SECOND;
      const perSecond = options.quick ? 50 : most;
      const leadS = LEAD_S[options.quick ? 'quick' : 'slots'];
      const closed = await close(
        { perSecond, seconds, herd: 0, leadS, ...programOf(subject) },
        options,
      );
      theirs.push([
        `${subject.name}, ${perSecond} a second`,
        ...cellsOf(closed).filter((_, column) => column < 4 || column === 6),
      ]);
      options.say(`${subject.name}: ${theirs.at(-1)?.slice(1).join(', ')}`);
    }
    const even = ['p50, ms', 'p99, ms', 'max, ms'];
    const rate = (options.quick ? 50 : PER_SECOND).toLocaleString('en-US');
    return {
      tables: [
        {
          title: `${rate} orders due a second for ${seconds} s, then ${herd.toLocaleString('en-US')} at one instant`,
          columns: [
            'driver',
            ...even,
            'CPU us an order',
            'herd: p50, ms',
            'herd: last, ms',
            'left open',
            'stock not given back',
          ],
          rows: ours,
          note:
            'From the deadline to the commit of the close: status, history and stock, by one worker with its sweep. With slots ' +
            'the herd is one alarm. CPU of the worker, Postgres, Redis and the broker, ' +
            'arming included.',
        },
        {
          title: `The even ones, as people close them without lastcall`,
          columns: ['way', ...even, 'CPU us an order', 'left open'],
          rows: theirs,
          note:
            'One order, one transaction. With windows mixed, messages with other times to live stand before each other in one queue: ' +
            'only its head dies. Bursts, and their batch modes, are in [benchmarks.md](benchmarks.md).',
        },
      ],
    };
  },
};

function workerOf(
  { name, needs }: TimerDriverKind,
  granularity: string,
): Pick<Plan, 'store' | 'start'> {
  const settings = { ROLES: 'worker', TIMER_DRIVER: name, TIMER_GRANULARITY: granularity };
  return {
    store: needs[0],
    start: (env, world) => startLastcall(world, { settings: { ...env, ...settings } }),
  };
}

function programOf({ program, args, store }: Subject): Pick<Plan, 'store' | 'start'> {
  return { store, start: (env, world) => startProgram(program, args, { ...world.env, ...env }) };
}

function cellsOf(closed: Closed | string): Cell[] {
  if (typeof closed === 'string') return [`not measured: ${closed}`];
  const { even, herd, cpuMicros, left } = closed;
  return [
    ...[even.p50, even.p99, even.max, cpuMicros].map(Math.round),
    ...(herd ? [herd.p50, herd.max].map(Math.round) : ['–', '–']),
    ...[left.open, left.unfolded],
  ];
}

async function close(plan: Plan, options: BenchOptions): Promise<Closed | string> {
  const starter = STORES.find(({ setting }) => setting !== 'REDIS_URL' && setting === plan.store);
  const missing = starter?.missing();
  if (missing !== undefined) return missing;
  const store = starter && (await TimerStore.open(starter, options.say));
  const folder = mkdtempSync(join(tmpdir(), 'lastcall-bench-'));
  const world = await createWorld(options.servers);
  try {
    await fillProducts(world);
    const { perSecond, seconds, herd, leadS } = plan;
    const count = perSecond * seconds;
    const herdInS = FILL_S + leadS + seconds + GAP_S;
    const herdAt =
      herd > 0 ? await fillPendingOrders(world, { count: herd, dueInS: herdInS }) : NEVER;
    // The even ones end before the herd, however long it took to write that down.
    const untilHerdS = (herdAt.getTime() - Date.now()) / 1_000 - seconds - GAP_S;
    const dueInS = herd > 0 ? Math.max(leadS, untilHerdS) : leadS;
    await fillPendingOrders(world, { count, dueInS, spreadS: seconds });
    await settle(world);
    const used = (pid: number): number => {
      const { node, postgres, redis } = world.cpu([pid]);
      return node + postgres + redis + (store?.group === undefined ? 0 : groupSeconds(store.group));
    };
    const where = store ? { [store.setting]: store.url } : {};
    const before = used(0);
    const worker = await plan.start({ ...where, TIMER_WHEEL_FOLDER: folder }, world);
    try {
      const left = await untilClosed(world, herdInS * 1_000 + LIMIT_MS);
      const cpuMicros = (1e6 * (used(worker.pid) - before)) / (count + herd);
      if (isNothing(left)) await assertClosedCompletely(world, count + herd);
      const even = await lagOf(world, '<', herdAt);
      return {
        even,
        herd: herd > 0 ? await lagOf(world, '>=', herdAt) : undefined,
        cpuMicros,
        left,
      };
    } finally {
      await worker.stop();
    }
  } finally {
    await world.close();
    await store?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What is left when its time is over: what is lost would be waited for without end. */
async function untilClosed(world: World, limitMs: number): Promise<Left> {
  const giveUpAtMs = performance.now() + limitMs;
  for (;;) {
    const [left] = await world.rows<Left>(
      `SELECT (SELECT count(*)::int FROM orders WHERE status = 'pending_payment') AS open,
              (SELECT count(*)::int FROM unfolded_stock_movements) AS unfolded`,
    );
    if (left && (isNothing(left) || performance.now() > giveUpAtMs)) return left;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

const isNothing = ({ open, unfolded }: Left): boolean => open + unfolded === 0;

/** Of those that are due before an instant, or from then on. */
async function lagOf(world: World, which: '<' | '>=', at: Date): Promise<Lag> {
  const [row] = await world.rows<Lag>(
    `WITH lags AS (
       SELECT extract(epoch FROM pg_xact_commit_timestamp(xmin) - closes_at)::float8 * 1000 AS lag
         FROM orders WHERE status = 'closed' AND closes_at ${which} $1)
     SELECT coalesce(percentile_cont(0.5) WITHIN GROUP (ORDER BY lag), 0) AS p50,
            coalesce(percentile_cont(0.99) WITHIN GROUP (ORDER BY lag), 0) AS p99,
            coalesce(max(lag), 0) AS max FROM lags`,
    [at],
  );
  return row as Lag;
}
