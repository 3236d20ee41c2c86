import { countStatements } from '../../../../test/support/count-statements';
import { insertOrders } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { Gauges } from '../ops/gauges';
import { type OrdersTelemetry, silentOrdersTelemetry } from '../order/telemetry';
import { INVARIANTS } from './run-invariants';
import { WatchInvariants } from './watch-invariants';

describe('what is watched for the metrics', () => {
  let world: World;
  beforeAll(async () => (world = await openWorld()));
  afterAll(() => world?.close());

  const violations = () =>
    Object.fromEntries(
      world.get(WatchInvariants).last.map(({ name, violations: found }) => [name, found]),
    );
  const alerts = () => world.told.filter(({ name }) => name === 'alert').map(({ args }) => args[1]);

  it('is nothing before the first run, and 0 for each in a shop that is well', async () => {
    await insertOrders(world, { count: 3, closesInMs: 60_000 });
    expect(violations()).toEqual({});
    await world.get(WatchInvariants).runOnce();
    expect(Object.values(violations())).toEqual(INVARIANTS.map(() => 0));
    expect(alerts()).toEqual([]);
  });

  it('stays what it was when a run is told to stop', async () => {
    const before = violations();
    const [order] = await insertOrders(world, { count: 1, closesInMs: 60_000 });
    const paidAt = 'UPDATE orders SET paid_at = $2 WHERE id = $1';
    await world.rows(paidAt, [order?.id, new Date()]);
    await world.get(WatchInvariants).runOnce(() => true);
    await world.rows(paidAt, [order?.id, null]);
    expect(violations()).toEqual(before);
    expect(before).not.toEqual({});
  });

  it('is what is broken, with an alert; of lateness, none', async () => {
    const [order] = await insertOrders(world, { count: 1, closesInMs: -60_000 });
    await world.rows(`UPDATE orders SET paid_at = now() WHERE id = $1`, [order?.id]);
    await world.get(WatchInvariants).runOnce();
    expect(violations()).toMatchObject({ timestamps_agree: 1, not_overdue: 1, not_early: 0 });
    expect(alerts()).toEqual([{ name: 'timestamps_agree', violations: 1 }]);
    expect((await world.get(Gauges).read()).oldestOverdueSeconds).toBeGreaterThan(50);
  });

  it('is of lateness what is late by more than a minute, also where sweeps are hours apart', async () => {
    await insertOrders(world, { count: 1, closesInMs: -120_000 });
    const settings = { ...world.config, SWEEP_INTERVAL: 6 * 3_600_000 };
    const watch = new WatchInvariants(world.dataSource, settings, silentOrdersTelemetry);
    await watch.runOnce();
    expect(watch.last[0]).toMatchObject({ name: 'not_overdue' });
    expect(watch.last[0]?.violations).toBeGreaterThan(0);
  });

  it('is nothing that was true before, when it cannot be found out', async () => {
    const query = jest.spyOn(world.dataSource, 'query').mockRejectedValue(new Error('away'));
    const runner = jest.spyOn(world.dataSource, 'createQueryRunner').mockImplementation(() => {
      throw new Error('away');
    });
    await expect(world.get(WatchInvariants).runOnce()).rejects.toThrow('away');
    query.mockRestore();
    runner.mockRestore();
    expect(new Set(Object.values(violations()))).toEqual(new Set([null]));
  });

  it('is nothing, and told of, where one could not be found out in time', async () => {
    const { dataSource } = countStatements(world.dataSource, (nth) => {
      // The first finds out where to begin.
      if (nth === 9) throw Object.assign(new Error('canceled'), { code: '57014' });
    });
    const telemetry = { failed: jest.fn(), alert: jest.fn() };
    const watch = new WatchInvariants(
      dataSource,
      world.config,
      telemetry as unknown as OrdersTelemetry,
    );
    await watch.runOnce();
    expect(watch.last.filter(({ violations: found }) => found === null)).toEqual([
      { name: 'webhooks_settled', violations: null },
    ]);
    expect(telemetry.failed).toHaveBeenCalledWith('invariant webhooks_settled', expect.any(Error));
  });

  it('is how long a refund waits to be sent, and what is on hold', async () => {
    const [order] = await insertOrders(world, {
      count: 1,
      closesInMs: 60_000,
      payment: 'open',
    });
    await world.rows(`UPDATE payments SET hold_reason = 'amounts differ' WHERE id = $1`, [
      order?.paymentId,
    ]);
    await world.rows(
      `INSERT INTO refunds (id, payment_id, reason, amount, currency, created_at, updated_at)
       SELECT gen_random_uuid(), $1, 'late_payment', 500, 'EUR', at, at
         FROM (SELECT now() - interval '1 hour' AS at) AS clock`,
      [order?.paymentId],
    );
    await world.rows(
      `INSERT INTO timeout_brakes (cause, kind, due, waiting) VALUES ('test', 'payment', 1, 1)`,
    );
    const { onHold, oldestUnsentRefundSeconds, timeoutsStopped } = await world.get(Gauges).read();
    expect(timeoutsStopped).toBe(true);
    expect(onHold).toEqual({ payments: 1, webhooks: 0, deadlines: 0 });
    expect(oldestUnsentRefundSeconds).toBeGreaterThan(3_590);
    expect(oldestUnsentRefundSeconds).toBeLessThan(3_900);
  });
});
