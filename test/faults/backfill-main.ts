/* One backfill in a process of its own that may die at a step: FAILPOINT, as in failing-main.ts. */
import 'reflect-metadata';
import { createDataSource, DEADLINE_KINDS, loadConfig } from '@app/orders';
import { Backfill, BullmqDriver, DatabaseClock, onFailpoint } from '@app/timeout';

const [wanted, nth = '1'] = (process.env.FAILPOINT ?? '').split('@');
let left = Number(nth);
onFailpoint((name) => {
  if (name === wanted && --left === 0) process.kill(process.pid, 'SIGKILL');
});

async function main(): Promise<void> {
  const config = loadConfig();
  const dataSource = await createDataSource(config, 'lastcall backfill').initialize();
  const clock = new DatabaseClock(dataSource);
  const onError = (error: Error): void => console.error(error.message);
  const redis = { redis: config.REDIS_URL, prefix: '{lc:alarms}', databaseClock: clock, onError };
  const driver = new BullmqDriver(redis);
  const { TIMER_GRANULARITY: granularity, TIMER_HORIZON: horizonMs } = config;
  const kinds = DEADLINE_KINDS;
  const parts = { dataSource, driver, clock, kinds, granularity, horizonMs, rings: false };
  const { done } = await new Backfill(parts).run({ batch: 10 });
  console.log(`backfilled ${done}`);
  await driver.stop();
  await dataSource.destroy();
}

void main();
