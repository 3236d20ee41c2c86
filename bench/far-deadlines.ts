import { createDataSource, loadConfig } from '@app/orders';
import {
  DatabaseClock,
  type DeadlineHandler,
  MemoryDriver,
  NoopLock,
  silentTelemetry,
  TimeoutService,
} from '@app/timeout';
import type { Question } from './question';
import { median } from './statistics';
import { createWorld, type World } from './world';

const FAR = [0, 1_000_000, 10_000_000];
const QUICK_FAR = [0, 20_000];
const CHUNK = 500_000;
const DUE = 1_000;
const LOOKS = 60;
const KIND = 'shipment';

export const farDeadlines: Question = {
  name: 'far-deadlines',
  asks: 'Do boot, sweep and rings slow down as deadlines pile up that are far away?',
  async answer({ servers, rounds, quick, say }) {
    const world = await createWorld(servers);
    try {
      const rows: Measured[] = [];
      let there = 0;
      for (const far of quick ? QUICK_FAR : FAR) {
        for (; there < far; there += Math.min(CHUNK, far - there)) {
          await fillFar(world, Math.min(CHUNK, far - there));
        }
        await world.pool.query('VACUUM ANALYZE far_deadlines');
        await world.pool.query('CHECKPOINT');
        const measured = await measure(world, far, rounds * (quick ? 2 : LOOKS));
        const { bootUs, sweepUs, ringUs } = measured;
        say(`${far} far: boot ${bootUs} us, sweep ${sweepUs} us, ring of ${DUE} ${ringUs} us`);
        rows.push(measured);
      }
      const [first] = rows as [Measured, ...Measured[]];
      const worst = Math.max(
        ...rows.flatMap((row) => [
          row.bootUs / first.bootUs,
          row.sweepUs / first.sweepUs,
          row.ringUs / first.ringUs,
        ]),
      );
      return {
        tables: [
          {
            title: 'Beside so many deadlines that are due in 1 to 30 days',
            columns: ['far deadlines', 'boot, us', 'sweep, us', `ring with ${DUE} due, us`],
            rows: rows.map(({ far, bootUs, sweepUs, ringUs }) => [far, bootUs, sweepUs, ringUs]),
            note: 'Medians. Boot: which kinds wait. Sweep: bring near, arm, look, with nothing due. Ring: claim and hand over.',
          },
        ],
        goals: [
          {
            text: 'flat within 20%',
            met: worst <= 1.2,
            measured: `at worst ${Math.round(100 * (worst - 1))}% more`,
          },
        ],
      };
    } finally {
      await world.close();
    }
  },
};

interface Measured {
  readonly far: number;
  readonly bootUs: number;
  readonly sweepUs: number;
  readonly ringUs: number;
}

const handler: DeadlineHandler = {
  maxBatch: DUE,
  lockKey: () => undefined,
  handle: async (due) => ({ changed: due.length, lost: 0 }),
};

async function measure(world: World, far: number, times: number): Promise<Measured> {
  const dataSource = createDataSource(loadConfig(world.env), 'bench');
  await dataSource.initialize();
  const clock = new DatabaseClock(dataSource);
  const timeouts = new TimeoutService(
    {
      driver: new MemoryDriver({ databaseClock: clock, onError: fail }),
      lock: new NoopLock(),
      dataSource,
      drainDataSource: dataSource,
      clock,
      telemetry: silentTelemetry,
    },
    {
      kinds: [KIND],
      granularity: 100,
      horizonMs: 900_000,
      sweep: { intervalMs: 10_000, unhealthyIntervalMs: 1_000, leaveToTimerMs: 1_000 },
    },
  );
  timeouts.handle(KIND, handler);
  try {
    const took = { boot: [] as number[], sweep: [] as number[], ring: [] as number[] };
    for (let i = 0; i < times; i++) {
      await addDue(world);
      took.boot.push(await timeOf(() => timeouts.assertAllHandled()));
      took.ring.push(await timeOf(() => timeouts.drainAll('timer')));
      took.sweep.push(await timeOf(() => timeouts.runSweep()));
    }
    return {
      far,
      bootUs: Math.round(median(took.boot)),
      sweepUs: Math.round(median(took.sweep)),
      ringUs: Math.round(median(took.ring)),
    };
  } finally {
    await timeouts.stop();
    await dataSource.destroy();
  }
}

function fail(error: Error): never {
  throw error;
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return 1_000 * (performance.now() - startedMs);
}

async function addDue({ pool }: World): Promise<void> {
  await pool.query(
    `INSERT INTO deadlines (kind, due_at, subject_id)
     SELECT $1, now() - i * interval '1 millisecond', gen_random_uuid()
       FROM generate_series(1, $2::int) AS i`,
    [KIND, DUE],
  );
}

async function fillFar({ pool }: World, count: number): Promise<void> {
  await pool.query(
    `INSERT INTO deadlines (kind, due_at, subject_id, far)
     SELECT $1, now() + interval '1 day' + i * interval '29 days' / $2::int, uuidv7(), true
       FROM generate_series(1, $2::int) AS i`,
    [KIND, count],
  );
}
