import { until } from '../../../test/support/until';
import { DatabaseClock } from './database-clock';
import { NoopLock } from './locks/noop.lock';
import { silentTelemetry } from './telemetry';
import { DeadlineStore } from './testing/deadline-store';
import { HandDriver } from './testing/hand-driver';
import { TimeoutRun } from './timeout-run';
import { TimeoutService } from './timeout.service';

const KIND = 'payment';
const HOUR_MS = 3_600_000;
const FIVE_MINUTES_MS = 300_000;

let store: DeadlineStore;
beforeAll(async () => (store = await DeadlineStore.open()));
afterAll(() => store?.close());
afterEach(() => jest.restoreAllMocks());

describe('a worker that sweeps every six hours', () => {
  it('brings near what comes due before the next sweep', async () => {
    const { dataSource } = store;
    const swept = jest.fn();
    const failed = jest.fn();
    const parts = {
      ...{
        driver: new HandDriver(),
        lock: new NoopLock(),
        dataSource,
        drainDataSource: dataSource,
      },
      ...{ clock: new DatabaseClock(dataSource), telemetry: { ...silentTelemetry, swept, failed } },
    };
    const sweep = { intervalMs: 6 * HOUR_MS, unhealthyIntervalMs: 1_000, leaveToTimerMs: 1_000 };
    const timeouts = new TimeoutService(parts, {
      ...{ kinds: [KIND], granularity: 100, horizonMs: 12 * HOUR_MS, sweep },
    });
    timeouts.handle(KIND, {
      maxBatch: 100,
      lockKey: () => undefined,
      handle: (due) => Promise.resolve({ changed: due.length, lost: 0 }),
    });
    const run = new TimeoutRun(timeouts, { ring: true, sweep, parts });
    await run.start();
    try {
      await until('it has swept', async () => swept.mock.calls.length > 0);
      await store.add(KIND, [1.5 * HOUR_MS]);
      expect(await where()).toEqual(['far_deadlines']);
      const { now } = performance;
      jest
        .spyOn(performance, 'now')
        .mockImplementation(() => now.call(performance) + FIVE_MINUTES_MS);
      await until('it is near', async () => (await where())[0] === 'near_deadlines');
      expect(swept).toHaveBeenCalledTimes(1);
    } finally {
      await run.stop();
    }
    expect(failed).not.toHaveBeenCalled();
  });
});

async function where(): Promise<string[]> {
  const rows = await store.rows<{ place: string }>(
    'SELECT tableoid::regclass::text AS place FROM deadlines',
  );
  return rows.map(({ place }) => place);
}
