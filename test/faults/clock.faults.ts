import { createDataSource, TimeoutBrake } from '@app/orders';
import { until } from '../support/until';
import { assert, type Fault, type Scene } from './fault';
import { pause } from './load';

const FIVE_MINUTES_MS = 300_000;
const HOUR_MS = 3_600_000;

export const CLOCK_FAULTS: readonly Fault[] = [
  {
    area: 'Clocks',
    name: 'one worker five minutes ahead, the other five behind',
    play: async (scene) => {
      await recast(scene, (sign) => ({ CLOCK_SKEW_MS: String(sign * FIVE_MINUTES_MS) }));
      const since = await scene.now();
      await scene.lasting(10_000, 5_000);
      return lateness(scene, since);
    },
  },
  {
    area: 'Clocks',
    name: 'a worker’s clock steps an hour back, the other’s an hour ahead, as they run',
    play: async (scene) => {
      await recast(scene, (sign) => ({ CLOCK_STEP_MS: String(sign * HOUR_MS) }));
      const since = await scene.now();
      for (const name of ['worker-1', 'worker-2']) scene.stage.process(name).signal('SIGUSR2');
      await scene.lasting(10_000, 5_000);
      return lateness(scene, since);
    },
  },
  {
    area: 'Clocks',
    name: 'the database’s clock jumps 24 h: timeouts stop until an operator confirms',
    quick: true,
    play: jump,
  },
];

async function recast(
  scene: Scene,
  envFor: (sign: number) => Readonly<Record<string, string>>,
): Promise<void> {
  for (const [name, sign] of [
    ['worker-1', 1],
    ['worker-2', -1],
  ] as const) {
    await scene.stage.process(name).stop();
    await scene.stage.start({ name, roles: 'worker', env: envFor(sign) });
  }
}

/** No early close is an invariant; here is how late they were. */
async function lateness(scene: Scene, since: Date): Promise<string> {
  await scene.heal();
  const [row] = await scene.stage.rows<{ n: string; lag: string | null }>(
    `SELECT count(*) AS n, max(extract(epoch FROM closed_at - closes_at)) AS lag FROM orders
      WHERE closed_at >= $1 AND close_reason = 'payment_timeout'`,
    [since],
  );
  for (const name of ['worker-1', 'worker-2']) await scene.stage.process(name).stop();
  await scene.backToUsual();
  return `${row?.n} closed, none early, at most ${Number(row?.lag ?? 0).toFixed(1)} s late`;
}

/** Another now() before pg_catalog's in the path of whoever connects from now on. */
const SKEWED = `
  CREATE SCHEMA IF NOT EXISTS skew;
  CREATE TABLE IF NOT EXISTS skew.jump (by interval NOT NULL);
  TRUNCATE skew.jump;
  INSERT INTO skew.jump VALUES ('0');
  CREATE OR REPLACE FUNCTION skew.now() RETURNS timestamptz STABLE LANGUAGE sql
    AS 'SELECT pg_catalog.now() + by FROM skew.jump';
  CREATE OR REPLACE FUNCTION skew.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql
    AS 'SELECT pg_catalog.clock_timestamp() + by FROM skew.jump';
  ALTER DATABASE lastcall SET search_path = skew, pg_catalog, public`;

async function jump(scene: Scene): Promise<string> {
  const { stage } = scene;
  await stage.rows(SKEWED);
  // Everybody connects again, and is asked the time by the new function from then on.
  stage.postgres.reset();
  await pause(5_000);
  // Orders placed while the clock is wrong would wait for tomorrow: those in flight are the point.
  await scene.load.startNoMore();
  const brake = async (): Promise<{ cause: string; due: number; waiting: number } | undefined> =>
    (
      await stage.rows<{ cause: string; due: number; waiting: number }>(
        'SELECT cause, due, waiting FROM timeout_brakes WHERE released_at IS NULL',
      )
    )[0];
  await stage.rows(`UPDATE skew.jump SET by = '24 hours'`);
  const engaged = await until('timeouts stop', brake, 30_000);
  await until('somebody is told', () =>
    stage.processes.some(({ log }) => log.includes('timeouts_stopped')),
  );
  const early = await stage.rows<{ by: string }>(
    `SELECT e.by FROM order_events e JOIN orders o ON o.id = e.order_id
      WHERE e.from_status = 'pending_payment' AND e.by IN ('timer', 'sweep', 'passive')
        AND e.at < o.closes_at`,
  );
  assert(early.length === 0, `closed before their time by ${early.map(({ by }) => by).join()}`);
  await stage.rows(`UPDATE skew.jump SET by = '0'`);
  await stage.rows(`ALTER DATABASE lastcall RESET search_path`);
  stage.postgres.reset();
  const dataSource = createDataSource({ DATABASE_URL: stage.databaseUrl }, 'operator');
  await dataSource.initialize();
  await new TimeoutBrake(dataSource).release({ actor: 'ann', reason: 'the clock is set' });
  await dataSource.destroy();
  await scene.heal();
  return `stopped by ${engaged.cause}: ${engaged.due} of ${engaged.waiting} were due at once; none closed early; went on once confirmed`;
}
