import {
  type Deadline,
  type DeadlineHandler,
  inTransaction,
  DatabaseClock,
  MemoryDriver,
  NoopLock,
  silentTelemetry,
  TimeoutService,
} from '@app/timeout';
import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { timed } from '../../libs/timeout/src/testing/awake-time';
import { insertOrders } from '../support/insert-orders';
import { until } from '../support/until';
import { assert, type Fault, type Step } from './fault';
import { slowness } from '../support/slowness';
import { pause } from './load';
import { areClosed, countOpen } from './open-orders';

const CROWD = 2_000;
const DEAD_WORKER_LIMIT_MS = 3_000;
const A_HANDFUL = 8;
const GONE = 100_000;
const CLAIMS = 120;
const SLOWER_BY = 1.5;

/** What cannot be prevented, and must not make orders late. */
export const LATENESS_FAULTS: readonly Fault[] = [
  {
    area: 'Workers',
    name: 'killed with the locks of a batch, 2,000 orders due',
    quick: true,
    run: killInABatch,
  },
  {
    area: 'Postgres',
    name: 'an old snapshot stays open while 100,000 deadlines are claimed',
    run: keepSnapshot,
  },
];

async function killInABatch(step: Step): Promise<string> {
  const { rig } = step;
  await step.load.stop();
  await until('nothing is open', async () => (await countOpen(step)) === 0, 60_000);
  await rig.process('worker-1').stop();
  const env = { FREEZE_AT: 'close.changed' };
  const victim = await rig.start({ name: 'worker-1', roles: 'worker', env });
  rig.process('worker-2').signal('SIGSTOP');
  const before = await inserted(step);
  const orders = await insertOrders(rig, { count: CROWD, closesInMs: -1 });
  await until('the worker stands in its batch', () => victim.isFrozen, 30_000);
  await victim.kill();
  rig.process('worker-2').signal('SIGCONT');
  const ours = orders.map(({ id }) => id);
  // While this machine stands still nobody closes, and the dead one's locks go on.
  const { tookMs } = await timed(() =>
    until('all are closed', () => areClosed(step, ours), 60_000),
  );
  // Sessions tell their counts after a second at most.
  await pause(1_500);
  const putBack = (await inserted(step)) - before - CROWD;
  rig.forget('worker-1');
  await step.backToUsual();
  await step.heal();
  const seen = `all closed ${tookMs} ms after its death, ${putBack} times put back`;
  assert(tookMs <= DEAD_WORKER_LIMIT_MS * slowness(), seen);
  assert(putBack <= A_HANDFUL * CROWD, seen);
  return seen;
}

async function keepSnapshot(step: Step): Promise<string> {
  const { rig } = step;
  // Nobody else knows these kinds: nothing but their claims is measured.
  const churned = await Claims.open(rig.databaseUrl, `faults-churned-${randomUUID()}`);
  const fresh = await Claims.open(rig.databaseUrl, `faults-fresh-${randomUUID()}`);
  const holder = await rig.pool.connect();
  try {
    await holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await holder.query('SELECT count(*) FROM orders');
    await churned.take(GONE);
    const took = { churned: [] as number[], fresh: [] as number[] };
    // In turns, as the load beside them comes and goes.
    for (let i = 0; i < CLAIMS; i++) {
      took.fresh.push(await fresh.one());
      took.churned.push(await churned.one());
    }
    await holder.query('ROLLBACK');
    await step.heal();
    const [freshMs, churnedMs] = [median(took.fresh), median(took.churned)];
    const seen = `a claim of one took ${churnedMs.toFixed(1)} ms, ${freshMs.toFixed(1)} ms where nothing was claimed before`;
    assert(churnedMs <= SLOWER_BY * freshMs, seen);
    return seen;
  } finally {
    holder.release();
    await churned.close();
    await fresh.close();
  }
}

/** Claims of a kind of their own, as a worker makes them: by the rings of alarms. */
class Claims {
  #handled: (() => void) | undefined;

  private constructor(
    private readonly kind: string,
    private readonly dataSource: DataSource,
    private readonly timeouts: TimeoutService,
  ) {}

  static async open(url: string, kind: string): Promise<Claims> {
    const dataSource = new DataSource({
      type: 'postgres',
      url,
      poolSize: 3,
    });
    await dataSource.initialize();
    const clock = new DatabaseClock(dataSource);
    const onError = (error: Error): never => {
      throw error;
    };
    const timeouts = new TimeoutService(
      {
        driver: new MemoryDriver({ databaseClock: clock, onError }),
        lock: new NoopLock(),
        dataSource,
        drainDataSource: dataSource,
        clock,
        telemetry: silentTelemetry,
      },
      {
        kinds: [kind],
        granularity: 20,
        horizonMs: 60_000,
        sweep: { intervalMs: 10_000, unhealthyIntervalMs: 1_000, leaveToTimerMs: 0 },
      },
    );
    const claims = new Claims(kind, dataSource, timeouts);
    const handler: DeadlineHandler = {
      maxBatch: 5_000,
      lockKey: () => undefined,
      handle: async (due, tx) => {
        tx.afterCommit(() => claims.#handled?.());
        return { changed: due.length, lost: 0 };
      },
    };
    timeouts.handle(kind, handler);
    await timeouts.start();
    return claims;
  }

  /** So many come due and are taken: what is left of them is what nobody needs but the snapshot. */
  async take(count: number): Promise<void> {
    await this.dataSource.query(
      `INSERT INTO deadlines (kind, due_at, subject_id)
       SELECT $1, now() - i * interval '1 millisecond', gen_random_uuid()
         FROM generate_series(1, $2::int) AS i`,
      [this.kind, count],
    );
    await this.timeouts.drainAll('timer');
  }

  /** From arming one that is due to the end of its batch, in milliseconds. */
  async one(): Promise<number> {
    const handled = new Promise<void>((resolve) => (this.#handled = resolve));
    const startedMs = performance.now();
    await inTransaction(this.dataSource, async (tx) => {
      const [row] = await tx.rows<{ now: Date }>('SELECT now()');
      const dueAt = (row as { now: Date }).now;
      const due: Deadline = { kind: this.kind, subjectId: randomUUID(), dueAt, version: 1 };
      await this.timeouts.arm(tx, [due]);
    });
    await handled;
    const tookMs = performance.now() - startedMs;
    await this.timeouts.idle();
    return tookMs;
  }

  async close(): Promise<void> {
    await this.timeouts.stop();
    await this.dataSource.destroy();
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}

/** How many deadlines were ever written, put back or new. */
async function inserted({ rig }: Step): Promise<number> {
  const [row] = await rig.rows<{ n: string }>(
    `SELECT n_tup_ins AS n FROM pg_stat_user_tables WHERE relname = 'near_deadlines'`,
  );
  return Number(row?.n);
}
