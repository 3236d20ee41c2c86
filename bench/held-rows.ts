import type { DeadlineHandler } from '@app/timeout';
import { setTimeout } from 'node:timers/promises';
import type { Question } from './question';
import { medianOf } from './statistics';
import { openTimeouts } from './timeouts';
import { createWorld, type World } from './world';

const KIND = 'held';
interface Case {
  /** How many rows a neighbour holds, and how many others are due with them. */
  readonly held: number;
  readonly free: number;
  readonly workers: number;
  /** Before the release: then nobody knows who was held. */
  readonly areReplaced?: boolean;
}

const CASES: readonly Case[] = [
  { held: 1_000, free: 1_000, workers: 1 },
  { held: 5_000, free: 5_000, workers: 1 },
  { held: 20_000, free: 1_000, workers: 1 },
  { held: 5_000, free: 5_000, workers: 3 },
  { held: 5_000, free: 5_000, workers: 3, areReplaced: true },
];
const QUICK_CASES: readonly Case[] = [{ held: 200, free: 200, workers: 2 }];
const LOOK_EVERY_MS = 20;

export const heldRows: Question = {
  name: 'held-rows',
  asks: 'How long do those who are free wait, where a neighbour holds thousands of rows of their kind?',
  async answer({ servers, rounds, quick, say }) {
    const world = await createWorld(servers);
    try {
      await world.pool.query('CREATE TABLE things (id uuid PRIMARY KEY, done boolean)');
      const rows = [];
      for (const one of quick ? QUICK_CASES : CASES) {
        const all: Waited[] = [];
        for (let round = 0; round < rounds; round++) all.push(await waited(world, one));
        const row = {
          ...one,
          halfMs: medianOf(all, (one) => one.halfMs),
          freeMs: medianOf(all, (one) => one.freeMs),
          releasedMs: medianOf(all, (one) => one.releasedMs),
        };
        say(`${one.held} held: the ${one.free} free ones within ${Math.round(row.freeMs)} ms`);
        rows.push(row);
      }
      return {
        tables: [
          {
            title: 'Due at one instant, of which a neighbour holds some by a transaction',
            columns: [
              'held',
              'free',
              'workers',
              'half of the free handled, ms',
              'all of the free, ms',
              'all of the held, ms after their release',
            ],
            rows: rows.map((row) => [
              row.held,
              row.free,
              row.areReplaced ? `${row.workers}, replaced before the release` : row.workers,
              Math.round(row.halfMs),
              Math.round(row.freeMs),
              Math.round(row.releasedMs),
            ]),
            note: 'A handler that changes one row for each subject by one statement for its batch, and waits for rows as that does; all workers in one process. They are released once all free ones are handled.',
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

async function waited(
  world: World,
  { held, free, workers, areReplaced = false }: Case,
): Promise<Waited> {
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
  let working = await startWorkers(world, workers);
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
    if (areReplaced) {
      await working.stop();
      working = await startWorkers(world, workers);
    }
    const releasedAtMs = performance.now();
    await holder.query('COMMIT');
    return { halfMs, freeMs, releasedMs: await until(due, releasedAtMs) };
  } finally {
    await holder.query('ROLLBACK');
    holder.release();
    await working.stop();
  }
}

interface Workers {
  stop(): Promise<void>;
}

/** Each drains again and again, and knows nothing of the others. */
async function startWorkers(world: World, count: number): Promise<Workers> {
  let isOver = false;
  const start = async (): Promise<() => Promise<void>> => {
    const open = await openTimeouts(world, KIND, handler);
    const drained = (async () => {
      while (!isOver) {
        await open.timeouts.drainAll('timer');
        await setTimeout(LOOK_EVERY_MS);
      }
    })();
    return async () => {
      await drained;
      await open.close();
    };
  };
  const ends = await Promise.all(Array.from({ length: count }, start));
  return {
    stop: async () => {
      isOver = true;
      await Promise.all(ends.map((end) => end()));
    },
  };
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
