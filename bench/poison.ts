import type { DeadlineHandler, DueDeadline, Transaction } from '@app/timeout';
import { cpuBetween, cpuMicrosEach } from './cpu';
import type { Question } from './question';
import { median, medianOf } from './statistics';
import { openTimeouts } from './timeouts';
import { createWorld, type World } from './world';

const DUE = 20_000;
const QUICK_DUE = 2_000;
const KIND = 'poison';
const SHARE = 0.02;
/** Hexadecimal digits of an id that say whether it is poisoned. */
const DIGITS = 4;
/** Fewer tries for each that fails nobody can need: so many bits tell which of all they are. */
const LEAST_TRIES = (-SHARE * Math.log2(SHARE) - (1 - SHARE) * Math.log2(1 - SHARE)) / SHARE;

type Handle = (due: readonly DueDeadline[], tx: Transaction) => Promise<void>;

/** How a subject makes its batch fail. */
const HANDLERS: readonly (readonly [name: string, handle: Handle])[] = [
  ['fails before it writes', (due) => (due.some(isPoisoned) ? refuse() : Promise.resolve())],
  [
    'fails in SQL, naming nobody',
    async (due, tx) => {
      await write(due, tx);
      if (due.some(isPoisoned)) await tx.rows('SELECT 1 / 0');
    },
  ],
  [
    'breaks a constraint, which names it',
    (due, tx) =>
      write(
        due,
        tx,
        due.filter(isPoisoned).map(({ subjectId }) => subjectId),
      ),
  ],
];

export const poison: Question = {
  name: 'poison',
  asks: 'How much slower are deadlines handled when 2% of the subjects always fail?',
  async answer({ servers, rounds, quick }) {
    const world = await createWorld(servers);
    const due = quick ? QUICK_DUE : DUE;
    try {
      await world.pool.query('CREATE TABLE effects (subject_id uuid PRIMARY KEY)');
      const rows = [];
      for (const [name, handle] of HANDLERS) {
        rows.push({ name, ...(await compare(world, handle, rounds, due)) });
      }
      return {
        tables: [
          {
            title: `${due} deadlines that are due, of which ${100 * SHARE}% fail`,
            columns: [
              'how',
              'clean, a second',
              'with 2%, a second',
              'ratio',
              'tries for each that fails',
              'CPU us each, clean',
              'with 2%',
            ],
            rows: rows.map((row) => [
              row.name,
              Math.round(row.clean),
              Math.round(row.poisoned),
              row.ratio.toFixed(2),
              (row.tries / (SHARE * due)).toFixed(1),
              row.cleanMicros.toFixed(0),
              row.poisonedMicros.toFixed(0),
            ]),
            note:
              'Medians of drains in turns. Handlers without other work: the clean speed is at its highest. A try is a piece of a batch that is ' +
              `handled or undone; where an error names nobody, ${LEAST_TRIES.toFixed(1)} for each that fails are the least that tell them from the others.`,
          },
        ],
        // One goal a way: the handler whose speed the goal was set by makes no statement.
        goals: rows.map(({ name, ratio }) => ({
          text: `${name}: at least a third of the clean speed at 2%`,
          met: ratio >= 1 / 3,
          measured: ratio.toFixed(2),
        })),
      };
    } finally {
      await world.close();
    }
  },
};

async function compare(world: World, handle: Handle, rounds: number, due: number) {
  const clean: Drained[] = [];
  const poisoned: Drained[] = [];
  await drained(world, handle, due, 0);
  for (let round = 0; round < rounds; round++) {
    clean.push(await drained(world, handle, due, 0));
    poisoned.push(await drained(world, handle, due, SHARE));
  }
  const perSecond = (all: readonly Drained[]): number => medianOf(all, (one) => one.perSecond);
  const micros = (all: readonly Drained[]): number => medianOf(all, (one) => one.micros);
  return {
    clean: perSecond(clean),
    poisoned: perSecond(poisoned),
    ratio: median(poisoned.map((one, i) => one.perSecond / (clean[i]?.perSecond ?? NaN))),
    cleanMicros: micros(clean),
    poisonedMicros: micros(poisoned),
    tries: medianOf(poisoned, (one) => one.tries),
  };
}

interface Drained {
  readonly perSecond: number;
  /** Of CPU, for each subject. */
  readonly micros: number;
  /** How often the handler was called. */
  readonly tries: number;
}

/** One drain, the first tries of those that fail included. */
async function drained(world: World, handle: Handle, due: number, share: number): Promise<Drained> {
  await world.pool.query('TRUNCATE deadlines, held_deadlines, effects');
  await world.pool.query(
    `INSERT INTO deadlines (kind, due_at, subject_id)
     SELECT $1, now() - interval '1 s', overlay(gen_random_uuid()::text PLACING
              CASE WHEN i <= $2::int * $3::float8 THEN '0000' ELSE 'ffff' END FROM 33)::uuid
       FROM generate_series(1, $2::int) AS i`,
    [KIND, due, share],
  );
  await world.pool.query('VACUUM ANALYZE deadlines');
  let tries = 0;
  const handler: DeadlineHandler = {
    maxBatch: 4_000,
    lockKey: () => undefined,
    handle: async (batch, tx) => {
      tries += 1;
      await handle(batch, tx);
      return { changed: batch.length, lost: 0 };
    },
  };
  const open = await openTimeouts(world, KIND, handler);
  try {
    const before = world.cpu([process.pid]);
    const startedMs = performance.now();
    await open.timeouts.drainAll('timer');
    const perSecond = due / ((performance.now() - startedMs) / 1_000);
    const cpu = cpuBetween(before, world.cpu([process.pid]));
    await assertPoisonLeft(world, due * share);
    return { perSecond, micros: cpuMicrosEach(cpu, due), tries };
  } finally {
    await open.close();
  }
}

/**
 * Who fails has failed and is put back; everybody else is gone. On a slow machine a drain takes longer than the
 * second after which the first are tried again: they count as often as they were tried.
 */
async function assertPoisonLeft(world: World, poisoned: number): Promise<void> {
  const [left] = await world.rows<{ all: number; failed: number; held: number }>(
    `SELECT count(*)::int AS all, (SELECT count(*)::int FROM held_deadlines) AS held,
            count(*) FILTER (WHERE failures > 0 AND subject_id::text LIKE '%' || $1)::int AS failed
       FROM deadlines`,
    ['0'.repeat(DIGITS)],
  );
  if (left?.all !== poisoned || left.failed !== poisoned || left.held > 0) {
    throw new Error(`${poisoned} deadlines had to fail; what is left: ${JSON.stringify(left)}`);
  }
}

const isPoisoned = ({ subjectId }: DueDeadline): boolean => subjectId.endsWith('0'.repeat(DIGITS));

function refuse(): Promise<never> {
  return Promise.reject(new Error('poison'));
}

/** An effect for each; those of `broken` twice, which their key does not allow. */
async function write(
  due: readonly DueDeadline[],
  tx: Transaction,
  broken: readonly string[] = [],
): Promise<void> {
  const ids = [...due.map(({ subjectId }) => subjectId), ...broken];
  await tx.rows('INSERT INTO effects SELECT unnest($1::uuid[])', [ids]);
}
