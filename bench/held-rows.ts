import type { DeadlineHandler } from '@app/timeout';
import { setTimeout } from 'node:timers/promises';
import type { Question } from './question';
import { medianOf } from './statistics';
import { openTimeouts } from './timeouts';
import { createWorld, type World } from './world';

const KIND = 'held';
/** How many rows a neighbour holds, and how many others are due with them. */
const SIZES = [
  [1_000, 1_000],
  [5_000, 5_000],
  [20_000, 1_000],
] as const;
const QUICK_SIZES = [[200, 200]] as const;
const LOOK_EVERY_MS = 20;

export const heldRows: Question = {
  name: 'held-rows',
  asks: 'How long do those who are free wait, where a neighbour holds thousands of rows of their kind?',
  async answer({ servers, rounds, quick, say }) {
    const world = await createWorld(servers);
    try {
      await world.pool.query('CREATE TABLE things (id uuid PRIMARY KEY, done boolean)');
      const rows = [];
      for (const [held, free] of quick ? QUICK_SIZES : SIZES) {
        const all: Waited[] = [];
        for (let round = 0; round < rounds; round++) all.push(await waited(world, held, free));
        const row = {
          ...{ held, free },
          halfMs: medianOf(all, (one) => one.halfMs),
          freeMs: medianOf(all, (one) => one.freeMs),
          releasedMs: medianOf(all, (one) => one.releasedMs),
        };
        say(`${held} held: the ${free} free ones within ${Math.round(row.freeMs)} ms`);
        rows.push(row);
      }
      return {
        tables: [
          {
            title: 'Due at one instant, of which a neighbour holds some by a transaction',
            columns: [
              'held',
              'free',
              'half of the free handled, ms',
              'all of the free, ms',
              'all of the held, ms after their release',
            ],
            rows: rows.map((row) => [
              row.held,
              row.free,
              Math.round(row.halfMs),
              Math.round(row.freeMs),
              Math.round(row.releasedMs),
            ]),
            note: 'A handler that changes one row for each subject by one statement for its batch, and waits for rows as that does; one worker. They are released once all free ones are handled.',
          },
        ],
        goals: [],
      };
    } finally {
      await world.close();
    }
  },
};

interface Waited {
  readonly halfMs: number;
  readonly freeMs: number;
  readonly releasedMs: number;
}

async function waited(world: World, held: number, free: number): Promise<Waited> {
  const due = held + free;
  await world.pool.query('TRUNCATE deadlines, held_deadlines, things');
  await world.pool.query(
    'INSERT INTO things SELECT gen_random_uuid(), false FROM generate_series(1, $1::int)',
    [due],
  );
  const holder = await world.pool.connect();
  await holder.query('BEGIN');
  await holder.query('SELECT FROM things ORDER BY id LIMIT $1 FOR UPDATE', [held]);
  await world.pool.query(
    `INSERT INTO deadlines (kind, due_at, subject_id)
     SELECT $1, now() - random() * interval '1 s', id FROM things`,
    [KIND],
  );
  const open = await openTimeouts(world, KIND, handler);
  let isOver = false;
  const drained = (async () => {
    while (!isOver) {
      await open.timeouts.drainAll('timer');
      await setTimeout(LOOK_EVERY_MS);
    }
  })();
  try {
    const startedMs = performance.now();
    const until = async (done: number, sinceMs: number): Promise<number> => {
      for (;;) {
        const [row] = await world.rows<{ n: number }>(
          'SELECT count(*)::int AS n FROM things WHERE done',
        );
        if (row && row.n >= done) return performance.now() - sinceMs;
        await setTimeout(LOOK_EVERY_MS);
      }
    };
    const halfMs = await until(free / 2, startedMs);
    const freeMs = await until(free, startedMs);
    const releasedAtMs = performance.now();
    await holder.query('COMMIT');
    return { halfMs, freeMs, releasedMs: await until(due, releasedAtMs) };
  } finally {
    await holder.query('ROLLBACK');
    holder.release();
    isOver = true;
    await drained;
    await open.close();
  }
}

const handler: DeadlineHandler = {
  maxBatch: 500,
  lockKey: () => undefined,
  handle: async (batch, tx) => {
    const ids = batch.map(({ subjectId }) => subjectId);
    await tx.rows('UPDATE things SET done = true WHERE id = ANY ($1::uuid[])', [ids]);
    return { changed: batch.length, lost: 0 };
  },
};
