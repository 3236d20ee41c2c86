import { until } from '../../../../test/support/until';
import { DatabaseClock } from '../database/database-clock';
import type { DueDeadline } from '../deadlines/deadline-handler';
import { NoopLock } from '../locks/noop.lock';
import { silentTelemetry } from '../telemetry';
import { DeadlineStore, subject } from '../testing/deadline-store';
import { HandDriver } from '../testing/hand-driver';
import { TimeoutService } from '../timeout.service';

const SLOW = ['payment', 'webhook', 'refund'];
const QUICK = 'receipt';
const DRAINERS = 3;

describe('the drainers of a process', () => {
  let store: DeadlineStore;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());

  it('leave connections to other kinds where several kinds are slow', async () => {
    const { dataSource } = store;
    const driver = new HandDriver();
    const timeouts = new TimeoutService(
      {
        ...{ driver, lock: new NoopLock(), dataSource, drainDataSource: dataSource },
        ...{ clock: new DatabaseClock(dataSource), telemetry: silentTelemetry },
      },
      {
        ...{ kinds: [...SLOW, QUICK], granularity: 100, horizonMs: 60_000 },
        sweep: { intervalMs: 10_000, unhealthyIntervalMs: 1_000, leaveToTimerMs: 0 },
        drain: { drainers: DRAINERS },
      },
    );
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    const underWay = { now: 0, most: 0 };
    const slow = async (due: readonly DueDeadline[]) => {
      underWay.most = Math.max(underWay.most, ++underWay.now);
      await opened;
      underWay.now -= 1;
      return { changed: due.length, lost: 0 };
    };
    let handled = 0;
    for (const kind of SLOW) timeouts.handle(kind, { maxBatch: 1, lockKey: String, handle: slow });
    timeouts.handle(QUICK, {
      maxBatch: 10,
      lockKey: String,
      handle: async (due) => ({ changed: (handled += due.length), lost: 0 }),
    });
    await timeouts.start();
    try {
      for (const kind of SLOW) await store.add(kind, Array<number>(20).fill(-1_000));
      const at = new Date(Date.now() - 1_000);
      await driver.ring([{ id: 'slot-1', at }]);
      // One of each, and as many more as two kinds would have beside their first.
      const most = SLOW.length + 2 * (DRAINERS - 1);
      await until('all that may', () => underWay.now === most);
      await store.rows(
        `INSERT INTO deadlines (kind, due_at, subject_id) VALUES ($1, now() - interval '1 s', $2)`,
        [QUICK, subject(1)],
      );
      await driver.ring([{ id: 'slot-2', at }]);
      await until('the quick one', () => handled === 1);
      expect(underWay.most).toBe(most);
    } finally {
      open();
      await timeouts.stop();
    }
  });
});
