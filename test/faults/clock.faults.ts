import { createDataSource, TimeoutBrake } from '@app/orders';
import { insertOrders } from '../support/insert-orders';
import { until } from '../support/until';
import { assert, type Fault, type Step } from './fault';
import { allowed, slowness } from '../support/slowness';
import { pause } from './load';

const FIVE_MINUTES_MS = 300_000;
const HOUR_MS = 3_600_000;
/** A sweep of the rig, and what its drain takes. */
const ALONE_LIMIT_S = 3;
/** What lost its alarm is looked for four times a second, by the database's clock. */
const LIMIT_S = 1;

export const CLOCK_FAULTS: readonly Fault[] = [
  {
    area: 'Clocks',
    name: 'one worker five minutes ahead, the other five behind',
    run: async (step) => {
      await restartWorkers(step, (sign) => ({ CLOCK_SKEW_MS: String(sign * FIVE_MINUTES_MS) }));
      // Of those due while no worker was there, both are late as they start.
      await step.alarmsAreBack();
      const since = await step.now();
      await step.lasting(10_000, 5_000);
      assertOff(step, FIVE_MINUTES_MS);
      return lateness(step, since);
    },
  },
  {
    area: 'Clocks',
    name: 'a worker’s clock steps an hour back, the other’s an hour ahead, as they run',
    run: async (step) => {
      await restartWorkers(step, (sign) => ({ CLOCK_STEP_MS: String(sign * HOUR_MS) }));
      await step.alarmsAreBack();
      const since = await step.now();
      for (const name of ['worker-1', 'worker-2']) step.rig.process(name).signal('SIGUSR2');
      await step.lasting(10_000, 5_000);
      assertOff(step, HOUR_MS);
      return lateness(step, since);
    },
  },
  {
    area: 'Clocks',
    name: 'the only worker’s clock steps an hour back as it runs',
    run: (step) => stepAlone(step, -HOUR_MS),
  },
  {
    area: 'Clocks',
    name: 'the only worker’s clock steps an hour ahead as it runs',
    run: (step) => stepAlone(step, HOUR_MS),
  },
  {
    area: 'Clocks',
    name: 'the database’s clock jumps 24 h: timeouts stop until an operator confirms',
    quick: true,
    run: jump,
  },
];

/** Nobody else is there to sweep for it. */
async function stepAlone(step: Step, byMs: number): Promise<string> {
  const { rig } = step;
  for (const name of ['worker-1', 'worker-2']) await rig.process(name).stop();
  const env = { CLOCK_STEP_MS: String(byMs) };
  const alone = await rig.start({ name: 'worker-1', roles: 'worker', env });
  await step.alarmsAreBack();
  const since = await step.now();
  alone.signal('SIGUSR2');
  await step.lasting(10_000, 5_000);
  step.assertSabotaged(['worker-1'], `the clock is off by ${byMs} ms`);
  const late = await step.lateness(since);
  const seen = `${late.handled} closed, none early, at most ${late.mostS.toFixed(1)} s late`;
  assert(late.handled > 0, 'it closed nothing');
  assert(late.mostS <= allowed(ALONE_LIMIT_S), seen);
  await step.heal();
  await alone.stop();
  await step.backToUsual();
  return seen;
}

async function restartWorkers(
  step: Step,
  envFor: (sign: number) => Readonly<Record<string, string>>,
): Promise<void> {
  for (const [name, sign] of [
    ['worker-1', 1],
    ['worker-2', -1],
  ] as const) {
    await step.rig.process(name).stop();
    await step.rig.start({ name, roles: 'worker', env: envFor(sign) });
  }
}

/** One ahead, the other behind. */
function assertOff(step: Step, ms: number): void {
  step.assertSabotaged(['worker-1'], `the clock is off by ${ms} ms`);
  step.assertSabotaged(['worker-2'], `the clock is off by ${-ms} ms`);
}

/** No early close is an invariant; here is how late they were. */
async function lateness(step: Step, since: Date): Promise<string> {
  await step.heal();
  const { handled, mostS } = await step.lateness(since);
  const seen = `${handled} closed, none early, at most ${mostS.toFixed(1)} s late`;
  assert(mostS <= LIMIT_S * slowness(), seen);
  for (const name of ['worker-1', 'worker-2']) await step.rig.process(name).stop();
  await step.backToUsual();
  return seen;
}

/**
 * Another now(), where the rig's address has everybody look before pg_catalog. As the real one it
 * stays what it is in a transaction: that sees the jumps before its own beginning.
 */
const SKEWED = `
  CREATE SCHEMA IF NOT EXISTS skew;
  CREATE TABLE IF NOT EXISTS skew.jumps (since timestamptz NOT NULL, by interval NOT NULL);
  TRUNCATE skew.jumps;
  INSERT INTO skew.jumps VALUES ('-infinity', '0');
  GRANT USAGE ON SCHEMA skew TO lastcall_app;
  GRANT SELECT ON skew.jumps TO lastcall_app;
  CREATE OR REPLACE FUNCTION skew.now() RETURNS timestamptz STABLE LANGUAGE sql
    AS 'SELECT pg_catalog.now() + by FROM skew.jumps
         WHERE since <= pg_catalog.now() ORDER BY since DESC LIMIT 1';
  CREATE OR REPLACE FUNCTION skew.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql
    AS 'SELECT pg_catalog.clock_timestamp() + by FROM skew.jumps
         WHERE since <= pg_catalog.clock_timestamp() ORDER BY since DESC LIMIT 1'`;
/** Nothing is dropped: a statement under way would look for it in vain. */
const STRAIGHT = `
  CREATE OR REPLACE FUNCTION skew.now() RETURNS timestamptz STABLE LANGUAGE sql
    AS 'SELECT pg_catalog.now()';
  CREATE OR REPLACE FUNCTION skew.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql
    AS 'SELECT pg_catalog.clock_timestamp()'`;
/** A jump is committed before it is: nobody's transaction begins in between. */
const AHEAD_MS = 500;
/** As many as may be due at once after a jump before timeouts stop, and as many again. */
const STILL_OPEN = 20;
const OPEN_FOR_MS = 10_000;

interface Brake {
  readonly cause: string;
  readonly due: number;
  readonly waiting: number;
}

/**
 * The orders that the jump alone has made due. By the jump every date is a day ahead, so that no event is
 * dated earlier than its order's deadline: it is the true time that tells them.
 */
async function dueAhead({ rig }: Step): Promise<{ kept: number; closed: number }> {
  const [row] = await rig.rows<{ kept: number; closed: number }>(
    `SELECT count(*) FILTER (WHERE o.status = 'pending_payment')::int AS kept,
            count(e.order_id)::int AS closed
       FROM orders o LEFT JOIN order_events e
         ON e.order_id = o.id AND e.from_status = 'pending_payment'
        AND e.by IN ('timer', 'sweep', 'passive')
      WHERE o.closes_at > pg_catalog.clock_timestamp()`,
  );
  return row as { kept: number; closed: number };
}

async function jump(step: Step): Promise<string> {
  const { rig } = step;
  const aheadMs = AHEAD_MS * slowness();
  const jumpBy = async (by: string): Promise<void> => {
    await rig.rows(
      `INSERT INTO skew.jumps VALUES
         (pg_catalog.clock_timestamp() + $1 * interval '1 millisecond', $2::interval)`,
      [aheadMs, by],
    );
    await pause(2 * aheadMs);
  };
  await rig.rows(SKEWED);
  // Everybody connects again, and is asked the time by the new function from then on.
  rig.postgres.reset();
  await pause(5_000);
  // Orders placed while the clock is wrong would wait for tomorrow: those in flight are the point.
  await step.load.startNoMore();
  // Those of the load may all be due by the time a busy machine has come to the jump.
  await insertOrders(rig, { count: STILL_OPEN, closesInMs: OPEN_FOR_MS + 4 * aheadMs });
  const engagedBrake = async (): Promise<Brake | undefined> =>
    (
      await rig.rows<Brake>(
        'SELECT cause, due, waiting FROM timeout_brakes WHERE released_at IS NULL',
      )
    )[0];
  await jumpBy('24 hours');
  const engaged = await until('timeouts stop', engagedBrake, 30_000);
  assert(engaged.cause === 'clock_jumped', `stopped by ${engaged.cause}`);
  await until('somebody is told', () =>
    rig.processes.some(({ log }) => log.includes('timeouts_stopped')),
  );
  const ahead = await dueAhead(step);
  const seen = `${ahead.closed} closed and ${ahead.kept} kept that only the jump made due`;
  // Who begins behind the jump reads it before anything else, so that there is no first batch.
  assert(ahead.kept > 0 && ahead.closed === 0, seen);
  await jumpBy('0');
  await rig.rows(STRAIGHT);
  rig.postgres.reset();
  const dataSource = createDataSource({ DATABASE_URL: rig.databaseUrl }, 'operator');
  await dataSource.initialize();
  await new TimeoutBrake(dataSource).release({ actor: 'ann', reason: 'the clock is set' });
  await dataSource.destroy();
  await step.heal();
  return `stopped by ${engaged.cause}: ${engaged.due} of ${engaged.waiting} were due at once; ${seen}; went on once confirmed`;
}
