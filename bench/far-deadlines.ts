import type { DeadlineHandler } from '@app/timeout';
import { flatGoal, type Question } from './question';
import { median } from './statistics';
import { openTimeouts, type OpenTimeouts } from './timeouts';
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
    const probes: Probe[] = [];
    try {
      for (const far of quick ? QUICK_FAR : FAR) {
        probes.push(await Probe.open(await createWorld(servers), far));
        say(`${far} far deadlines wait`);
      }
      // In turns, as other work on the machine comes and goes. The first is for warmth.
      const times = rounds * (quick ? 2 : LOOKS);
      for (let i = 0; i < times; i++) for (const probe of probes) await probe.look(i > 0);
      const rows = probes.map((probe) => probe.medians());
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
        goals: [flatGoal(worst)],
      };
    } finally {
      for (const probe of probes) await probe.close();
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

/** A worker beside so many far deadlines. */
class Probe {
  readonly #took = { boot: [] as number[], sweep: [] as number[], ring: [] as number[] };

  private constructor(
    private readonly world: World,
    private readonly far: number,
    private readonly open: OpenTimeouts,
  ) {}

  static async open(world: World, far: number): Promise<Probe> {
    for (let there = 0; there < far; there += CHUNK) {
      await fillFar(world, Math.min(CHUNK, far - there));
    }
    await world.pool.query('VACUUM ANALYZE far_deadlines');
    await world.pool.query('CHECKPOINT');
    return new Probe(world, far, await openTimeouts(world, KIND, handler));
  }

  async look(counts: boolean): Promise<void> {
    await addDue(this.world);
    const boot = await timeOf(() => this.open.timeouts.assertAllHandled());
    const ring = await timeOf(() => this.open.timeouts.drainAll('timer'));
    await this.#assertNothingNear();
    const sweep = await timeOf(() => this.open.timeouts.runSweep());
    if (!counts) return;
    this.#took.boot.push(boot);
    this.#took.ring.push(ring);
    this.#took.sweep.push(sweep);
  }

  async #assertNothingNear(): Promise<void> {
    const [near] = await this.world.rows<{ n: number }>(
      'SELECT count(*)::int AS n FROM near_deadlines',
    );
    if (near?.n !== 0) throw new Error(`The ring has left ${near?.n} of ${DUE} deadlines`);
  }

  medians(): Measured {
    const { boot, sweep, ring } = this.#took;
    const [bootUs, sweepUs, ringUs] = [boot, sweep, ring].map((took) => Math.round(median(took)));
    return { far: this.far, bootUs, sweepUs, ringUs } as Measured;
  }

  async close(): Promise<void> {
    await this.open.close();
    await this.world.close();
  }
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
