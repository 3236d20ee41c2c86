import { createDataSource, loadConfig } from '@app/orders';
import {
  DatabaseClock,
  type DeadlineHandler,
  MemoryDriver,
  NoopLock,
  silentTelemetry,
  TimeoutService,
} from '@app/timeout';
import type { World } from './world';

export interface OpenTimeouts {
  readonly timeouts: TimeoutService;
  close(): Promise<void>;
}

/** Deadlines of one kind alone, without orders, Redis or locks: what is measured is the library. */
export async function openTimeouts(
  world: World,
  kind: string,
  handler: DeadlineHandler,
): Promise<OpenTimeouts> {
  const dataSource = createDataSource(loadConfig(world.env), 'bench');
  await dataSource.initialize();
  const clock = new DatabaseClock(dataSource);
  const driver = new MemoryDriver({ databaseClock: clock, onError: fail });
  const pools = { dataSource, drainDataSource: dataSource };
  const timeouts = new TimeoutService(
    { driver, lock: new NoopLock(), ...pools, clock, telemetry: silentTelemetry },
    {
      kinds: [kind],
      granularity: 100,
      horizonMs: 900_000,
      sweep: { intervalMs: 10_000, unhealthyIntervalMs: 1_000, leaveToTimerMs: 1_000 },
    },
  );
  timeouts.handle(kind, handler);
  return {
    timeouts,
    close: async () => {
      await timeouts.stop();
      await dataSource.destroy();
    },
  };
}

const fail = (error: Error): void => {
  throw error;
};
