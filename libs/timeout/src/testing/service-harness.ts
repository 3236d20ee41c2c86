import { DatabaseClock } from '../database/database-clock';
import type { DeadlineHandler } from '../deadlines/deadline-handler';
import { NoopLock } from '../locks/noop.lock';
import { silentTelemetry, type TimeoutTelemetry } from '../telemetry';
import type { TimeoutOptions } from '../timeout-options';
import { TimeoutService } from '../timeout.service';
import type { DeadlineStore } from './deadline-store';
import { HandDriver } from './hand-driver';

export const KIND = 'payment';

export const serviceOptions: TimeoutOptions = {
  kinds: [KIND],
  granularity: 100,
  horizonMs: 60_000,
  sweep: { intervalMs: 10_000, unhealthyIntervalMs: 1_000, leaveToTimerMs: 1_000 },
};

/** Has its effects in the table of that name. */
export const EFFECTS: DeadlineHandler = {
  maxBatch: 100,
  lockKey: () => undefined,
  handle: async (due, tx, by) => {
    const ids = due.map(({ subjectId }) => subjectId);
    await tx.rows('INSERT INTO effects SELECT unnest($1::uuid[]), $2', [ids, by]);
    return { changed: due.length, lost: 0 };
  },
};

/** A service of these deadlines whose alarms ring by hand, without a handler. */
export function serviceOf(
  { dataSource }: DeadlineStore,
  driver = new HandDriver(),
  telemetry: Partial<TimeoutTelemetry> = {},
  change: Partial<TimeoutOptions> = {},
): TimeoutService {
  return new TimeoutService(
    {
      driver,
      lock: new NoopLock(),
      dataSource,
      drainDataSource: dataSource,
      clock: new DatabaseClock(dataSource),
      telemetry: { ...silentTelemetry, ...telemetry },
    },
    { ...serviceOptions, ...change },
  );
}

/** One that handles them. */
export function handlingOf(...args: Parameters<typeof serviceOf>): TimeoutService {
  const timeouts = serviceOf(...args);
  timeouts.handle(KIND, EFFECTS);
  return timeouts;
}
