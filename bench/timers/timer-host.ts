// A worker of lastcall with the backstop, or, without `--sweep`, with the driver's alarms alone, which
// the product never runs: what is lost then is what the backstop is worth. With `--arm` it hands all
// orders to the driver before it is ready, as placing them would have.
import { createDataSource, loadConfig } from '@app/orders';
import {
  AlarmStoreError,
  DatabaseClock,
  type DeadlineHandler,
  NoopLock,
  silentTelemetry,
  timerDriverKind,
  TimeoutRun,
  TimeoutService,
} from '@app/timeout';
import { CLOSE } from '../competitors/close-orders';
import { stepClockWhenTold } from './clock-step';

const KIND = 'payment';
const HORIZON_MS = 900_000;
const ARM_AGAIN_MS = 200;
const SWEEP = { intervalMs: 10_000, unhealthyIntervalMs: 1_000, leaveToTimerMs: 1_000 };

const closing: DeadlineHandler = {
  maxBatch: 500,
  lockKey: () => undefined,
  handle: async (due, tx) => {
    await tx.rows(CLOSE, [due.map(({ subjectId }) => subjectId)]);
    return { changed: due.length, lost: 0 };
  },
};

async function main(args: readonly string[]): Promise<void> {
  stepClockWhenTold();
  const config = loadConfig(process.env);
  const dataSource = await createDataSource(config, 'lastcall bench').initialize();
  const clock = new DatabaseClock(dataSource);
  await clock.measure();
  const driver = await timerDriverKind(config.TIMER_DRIVER).create({
    settings: config,
    dataSource,
    databaseClock: clock,
    prefix: process.env.BENCH_PREFIX ?? 'lc',
    // A store that is away says so again and again; what it costs is what is measured.
    onError: () => undefined,
  });
  const pools = { dataSource, drainDataSource: dataSource };
  const parts = { driver, lock: new NoopLock(), ...pools, clock, telemetry: silentTelemetry };
  const options = { kinds: [KIND], granularity: config.TIMER_GRANULARITY, horizonMs: HORIZON_MS };
  const timeouts = new TimeoutService(parts, { ...options, sweep: SWEEP });
  timeouts.handle(KIND, closing);
  if (args.includes('--arm')) await armAll(timeouts);
  if (args.includes('--sweep')) {
    await new TimeoutRun(timeouts, { sweep: SWEEP, ring: true, parts }).start();
  } else {
    await timeouts.start();
  }
  console.log('ready');
}

/** Again where a machine that starts a dozen programs keeps the store waiting: a sweep would as well. */
async function armAll(timeouts: TimeoutService): Promise<void> {
  for (;;) {
    try {
      await timeouts.alarms.catchUp();
      return;
    } catch (error) {
      if (!(error instanceof AlarmStoreError)) throw error;
      await new Promise((resolve) => setTimeout(resolve, ARM_AGAIN_MS));
    }
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
