import { examineDependencies, runInvariants } from '@app/orders';
import { slotAlarm } from '../../libs/timeout/src/slots';
import { tagIndexOf } from '../../libs/timeout/src/redis/hash-tags';
import { OwnCluster } from '../../libs/timeout/src/testing/own-cluster';
import { AwakeTime } from '../../libs/timeout/src/testing/awake-time';
import { startTestApp, type TestApp } from '../support/app';
import { insertProduct, TEST_SKU } from '../support/insert-orders';
import { slowness } from '../support/slowness';
import { startStopwatch } from '../support/stopwatch';
import { until } from '../support/until';

jest.setTimeout(120_000);

const TAGS = 4;
const SLOT_MS = 100;
/** The first part of the alarms, all in the slot of what stands between the braces. */
const ALARMS = '{lc:alarms:0}';
/** What the table of promises allows while Redis is in trouble. */
const ACCEPTED_WITHIN_MS = 3_000;
const PLACE_EVERY_MS = 50;
/** The sweep is there within a second; a busy machine takes longer over it. */
const LATE_MS = 6_000;

describe('an installation on a cluster of three masters with a replica each', () => {
  let cluster: OwnCluster;
  let api: TestApp;

  beforeAll(async () => {
    cluster = await OwnCluster.start({ replicas: true });
    api = await startTestApp({
      settings: { REDIS_URL: cluster.url, PAYMENT_WINDOW: '1s', PAYMENT_GRACE: '500ms' },
    });
    await insertProduct(api);
    await under(async () => untilAlarmsRing());
  });
  afterAll(async () => {
    await api?.close();
    await cluster?.remove();
  });

  /** Places orders while `fault` goes on; all are accepted in time, closed once, and soon after they are due. */
  async function under(fault: () => Promise<unknown>): Promise<void> {
    const begunAt = await now();
    const [awake, startedMs] = [new AwakeTime(), performance.now()];
    const token = await api.token();
    let isOver = false;
    let placed = 0;
    const placing = (async () => {
      while (!isOver) {
        const tookMs = startStopwatch();
        const { status } = await api.request('POST /v1/orders', {
          token,
          body: { items: [{ sku: TEST_SKU, quantity: 1 }] },
          headers: { 'idempotency-key': `cluster-${begunAt.getTime()}-${placed}` },
        });
        expect(status).toBe(201);
        expect(tookMs()).toBeLessThan(ACCEPTED_WITHIN_MS);
        placed += 1;
        await new Promise((resolve) => setTimeout(resolve, PLACE_EVERY_MS));
      }
    })();
    await fault().finally(() => (isOver = true));
    await placing;
    await until(
      'all are closed',
      async () => (await count("status <> 'closed'", begunAt)) === 0,
      30_000,
    );
    expect(await count('true', begunAt)).toBe(placed);
    const asleepMs = performance.now() - startedMs - awake.nowMs;
    awake.stop();
    const lateMs = Math.round(LATE_MS * slowness() + asleepMs);
    const late = `closed_at > closes_at + interval '${lateMs} milliseconds' OR closed_at < closes_at`;
    expect(await count(late, begunAt)).toBe(0);
    // Events wait for whoever has written longest in all of the server, other tests' databases included.
    let broken: unknown[] = [];
    await until('every promise is kept', async () => {
      const results = await runInvariants(api, { limitMs: 15_000, newest: 'all' });
      broken = results.filter(({ violations }) => violations > 0);
      return broken.length === 0;
    }).catch(() => undefined);
    expect(broken).toEqual([]);
  }

  async function now(): Promise<Date> {
    const [row] = await api.rows<{ now: Date }>('SELECT clock_timestamp() AS now');
    return row?.now as Date;
  }

  async function count(which: string, since: Date): Promise<number> {
    const sql = `SELECT count(*)::int AS n FROM orders WHERE created_at >= $1 AND (${which})`;
    const [row] = await api.rows<{ n: number }>(sql, [since]);
    return row?.n as number;
  }

  /** Of each part one, for orders placed from now on. */
  async function untilAlarmsRing(): Promise<void> {
    const since = await now();
    const rung = `SELECT o.closes_at AS "closesAt" FROM order_events e JOIN orders o ON o.id = e.order_id
                   WHERE e.by = 'timer' AND e.to_status = 'closed' AND o.created_at > $1`;
    const partsThatRang = async (): Promise<number> => {
      const rows = await api.rows<{ closesAt: Date }>(rung, [since]);
      const ids = rows.map(
        ({ closesAt }) => slotAlarm(Math.ceil(closesAt.getTime() / SLOT_MS) * SLOT_MS, SLOT_MS).id,
      );
      return new Set(ids.map((id) => tagIndexOf(id, TAGS))).size;
    };
    await until('alarms ring again', async () => (await partsThatRang()) === TAGS, 30_000);
  }

  it('goes on when the master of the alarms is killed: its replica takes over', async () => {
    const master = await cluster.masterOf(ALARMS);
    await under(async () => {
      await cluster.killMaster(master);
      await until(
        'a replica is master',
        async () => (await cluster.masterOf(ALARMS)) !== master,
        30_000,
      );
      await untilAlarmsRing();
    });
    await cluster.start();
  });

  it('follows the slot of its alarms to another master', async () => {
    const before = await cluster.masterOf(ALARMS);
    await under(async () => {
      await cluster.moveSlotOf(ALARMS);
      await untilAlarmsRing();
    });
    expect(await cluster.masterOf(ALARMS)).not.toBe(before);
  });

  it('closes by the sweep while the whole cluster refuses, and rings again afterwards', async () => {
    await under(async () => {
      await cluster.killAllMasters();
      const since = await now();
      const swept = `SELECT 1 FROM order_events WHERE by = 'sweep' AND to_status = 'closed' AND at > $1`;
      await until('the sweep closes', async () => (await api.rows(swept, [since]))[0], 30_000);
      await cluster.start();
      await untilAlarmsRing();
    });
  });

  it('is looked at node by node by the doctor', async () => {
    const checks = await examineDependencies(api.config);
    const redis = checks.filter(({ area }) => area === 'redis');
    const whole = redis.find(({ name }) => name === 'cluster');
    expect(whole?.detail).toMatch(
      /^ok, 16384 of 16384 slots, 3 masters, cluster-require-full-coverage yes$/,
    );
    expect(redis.filter(({ name }) => name.startsWith('eviction of 127.0.0.1:'))).toHaveLength(6);
    expect(
      redis
        .filter(({ name }) => name.startsWith('replicas of 127.0.0.1:'))
        .map(({ detail }) => detail),
    ).toEqual(['1', '1', '1']);
  });
});
