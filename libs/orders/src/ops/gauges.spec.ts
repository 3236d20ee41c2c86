import { beginHeldOpen } from '../../../../test/support/held-open';
import { insertOrders } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { Gauges } from './gauges';

describe('gauges', () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld();
    await insertOrders(world, { count: 3, closesInMs: -60_000 });
  });
  afterAll(() => world?.close());

  const read = () => world.get(Gauges).readWhatCanBe(10_000);

  it('are told but for those whose table somebody has locked', async () => {
    const all = Object.keys(await world.get(Gauges).read());
    const whole = await read();
    expect([Object.keys(whole.readings), whole.failures]).toEqual([all, []]);
    const somebody = await beginHeldOpen(world.dataSource);
    await somebody.query('LOCK TABLE refunds IN ACCESS EXCLUSIVE MODE');
    const { readings, failures } = await read();
    await somebody.rollbackTransaction();
    await somebody.release();
    expect(readings.overdueDeadlines).toBe(3);
    const missing = all.filter((name) => !(name in readings));
    expect(missing).toEqual([
      'refunds',
      'waits',
      'oldestClosingSeconds',
      'oldestUnsentRefundSeconds',
      // Whether what is disputed pays for its order: by what was sent back.
      'automaticRefundsAhead',
    ]);
    expect(failures.map(String)).toEqual(
      [1, 2, 3].map(() => expect.stringContaining('lock timeout') as string),
    );
  });

  it('are not waited for beyond a limit', async () => {
    const somebody = await beginHeldOpen(world.dataSource);
    await somebody.query('LOCK TABLE refunds IN ACCESS EXCLUSIVE MODE');
    const { readings, failures } = await world.get(Gauges).readWhatCanBe(0);
    await somebody.rollbackTransaction();
    await somebody.release();
    expect(Object.keys(readings)).not.toContain('refunds');
    expect(new Set(failures.map(String))).toEqual(
      new Set(['TimeLimitError: the gauges were not read within 0 ms']),
    );
  });
});
