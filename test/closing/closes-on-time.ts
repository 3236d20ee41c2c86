import { examineDependencies, runInvariants } from '@app/orders';
import { TimeoutService, timerDriverKind } from '@app/timeout';
import { timed } from '../../libs/timeout/src/testing/awake-time';
import { startTestApp, type TestApp } from '../support/app';
import type { TestDatabase } from '../support/database';
import { insertProduct, TEST_SKU } from '../support/insert-orders';
import { slowness } from '../support/slowness';
import { until } from '../support/until';

const ORDERS = 20;
/** Slot, ring and drain, on a machine that does other things as well. */
const LATE_MS = 1_500;
const LIMIT_MS = 15_000;
/** With the server of the driver, where it has one of its own. */
const START_LIMIT_MS = 180_000;

/** The promise of closing on time, kept with this driver by an application that runs with it. */
export function describeClosingOnTime(
  driver: string,
  settings: () => Promise<Readonly<Record<string, string>>> | Readonly<Record<string, string>>,
  database?: () => Promise<TestDatabase>,
): void {
  describe(`closing on time by ${driver}`, () => {
    let api: TestApp;
    beforeAll(async () => {
      api = await startTestApp({
        ...(database ? { database: await database() } : {}),
        settings: {
          TIMER_DRIVER: driver,
          PAYMENT_WINDOW: '1s',
          PAYMENT_GRACE: '500ms',
          // The timer closes them all: no sweep comes in between, ...
          SWEEP_INTERVAL: '59s',
          ...(await settings()),
        },
      });
      // ... not where the store of the alarms is taken for unhealthy for a moment either, nor the look for
      // what is late by half a second, as all is where Postgres stands still.
      const { sweep } = api.app.get(TimeoutService);
      jest.spyOn(sweep, 'isDue').mockReturnValue(false);
      jest.spyOn(sweep, 'takeMissed').mockResolvedValue(false);
      await insertProduct(api);
    }, START_LIMIT_MS);
    afterAll(() => api?.close());

    it('closes every order once, soon after it is due, and never before', async () => {
      const startedMs = performance.now();
      const token = await api.token();
      const { tookMs: awakeMs } = await timed(async () => {
        for (let i = 0; i < ORDERS; i++) {
          const { status } = await api.request('POST /v1/orders', {
            token,
            body: { items: [{ sku: TEST_SKU, quantity: 1 }] },
            headers: { 'idempotency-key': `${driver}-${i}` },
          });
          expect(status).toBe(201);
        }
        await until('all are closed', async () => {
          const [row] = await api.rows<{ n: number }>(
            `SELECT count(*)::int AS n FROM orders WHERE status = 'closed'`,
          );
          return row?.n === ORDERS;
        });
      });
      const asleepMs = performance.now() - startedMs - awakeMs;
      const [lag] = await api.rows<{ least: number; most: number; by_timer: number }>(
        `SELECT min(lag)::int AS least, max(lag)::int AS most,
                count(*) FILTER (WHERE by = 'timer')::int AS by_timer
           FROM (SELECT extract(epoch FROM o.closed_at - o.closes_at) * 1000 AS lag, e.by
                   FROM orders o JOIN order_events e ON e.order_id = o.id
                  WHERE e.to_status = 'closed') AS closes`,
      );
      const { precisionMs } = timerDriverKind(driver).abilities;
      expect(lag?.least).toBeGreaterThanOrEqual(0);
      const lateMs = LATE_MS * slowness() + asleepMs;
      expect(lag?.most).toBeLessThan(precisionMs + lateMs);
      expect(lag?.by_timer).toBe(ORDERS);
      const results = await runInvariants(api, { limitMs: LIMIT_MS, newest: 'all' });
      expect(results.filter(({ violations }) => violations > 0)).toEqual([]);
    });

    it('is seen by the doctor as its registration says', async () => {
      const kind = timerDriverKind(driver);
      const checks = (await examineDependencies(api.config)).filter(({ area }) => area === 'timer');
      expect(checks.length > 0).toBe('examine' in kind);
      expect(checks.filter(({ state }) => state !== 'ok')).toEqual([]);
    });
  });
}
