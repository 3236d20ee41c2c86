/* One backfill in a process of its own that may die at a step: FAILPOINT, as in failing-main.ts. */
import 'reflect-metadata';
import { createDataSource, DEADLINE_KINDS, loadConfig } from '@app/orders';
import { Backfill, DatabaseClock, onFailpoint, timerDriverKind } from '@app/timeout';

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
  const parts = { settings: config, prefix: 'lc', dataSource, databaseClock: clock, onError };
  const driver = await timerDriverKind(config.TIMER_DRIVER).create(parts);
  const { TIMER_GRANULARITY: granularity, TIMER_HORIZON: horizonMs } = config;
  const kinds = DEADLINE_KINDS;
  const backfill = { dataSource, driver, clock, kinds, granularity, horizonMs, rings: false };
  const { done } = await new Backfill(backfill).run({ batch: 10 });
  console.log(`backfilled ${done}`);
  await driver.stop();
  await dataSource.destroy();
}

void main();
