import { insertOrders } from '../../../../test/support/insert-orders';
import { brokenInvariants, moneyOf } from '../../../../test/support/money';
import { until } from '../../../../test/support/until';
import { openWorld, type World } from '../../../../test/support/world';
import { SettleRefunds } from '../money/settle-refunds';
import { CreateRefund } from '../ops/create-refund';

const MANY = 200;
const OLGA = { actor: 'olga', reason: 'case 9' };

let world: World;
beforeEach(async () => (world = await openWorld()));
afterEach(async () => {
  jest.restoreAllMocks();
  world.provider.unreachable = undefined;
  await world?.close();
});

const { paid } = moneyOf(() => world);
const told = (name: string) => world.told.filter((one) => one.name === name);
/** Asks about all that are due, whatever that leads to. */
async function ask(): Promise<void> {
  await world.timeouts.drainAll('timer');
  await world.timeouts.idle();
}
const count = async (sql: string): Promise<number> =>
  (await world.rows<{ n: number }>(`SELECT count(*)::int AS n FROM ${sql}`))[0]?.n ?? 0;
const isIn = (status: string, n: number) => async () =>
  (await count(`orders WHERE status = '${status}'`)) === n;
const nobodyIsHeld = async () => expect(await count('held_deadlines')).toBe(0);
const makeDue = (kind: string) =>
  world.rows('UPDATE deadlines SET due_at = now() WHERE kind = $1', [kind]);

/** Overdue orders, each with a payment that is open at the provider. */
async function overdue(): Promise<void> {
  const orders = await insertOrders(world, { count: MANY, closesInMs: -1_000, payment: 'open' });
  for (const { paymentId, amount } of orders) {
    world.provider.open({ paymentId: paymentId as string, amount, currency: 'EUR' });
  }
}

describe('orders behind the fence', () => {
  it('wait for a handler with a bug as one: a single alert, and all close once it is mended', async () => {
    await overdue();
    await world.owner.rows('ALTER TABLE payments RENAME COLUMN request TO asked_for');
    await ask();
    await until('all are behind the fence', isIn('closing', MANY));
    await until('the kind stands still', async () => told('handlerFails').length > 0);
    expect(told('handlerFails').map(({ args: [kind, error] }) => [kind, String(error)])).toEqual([
      ['closing', expect.stringContaining('column p.request does not exist')],
    ]);
    const failed = told('failed').length;
    await makeDue('closing');
    await ask();
    // At most a few to see whether it works again.
    expect(told('failed').length - failed).toBeLessThanOrEqual(10);
    await nobodyIsHeld();
    await world.owner.rows('ALTER TABLE payments RENAME COLUMN asked_for TO request');
    await makeDue('closing');
    await until('all are closed', async () => {
      await makeDue('closing');
      await ask();
      return isIn('closed', MANY)();
    });
    expect(told('handlerFails')).toHaveLength(1);
    expect(told('handlerWorks')).toHaveLength(1);
    expect(await brokenInvariants(world)).toEqual([]);
  });

  it('do not speak against the handler while their provider is down', async () => {
    await overdue();
    world.provider.unreachable = 'before';
    for (let round = 0; round < 3; round++) {
      await ask();
      await makeDue('closing');
    }
    await until('all are behind the fence', isIn('closing', MANY));
    world.provider.unreachable = undefined;
    await until('all are closed', async () => {
      await makeDue('closing');
      await ask();
      return isIn('closed', MANY)();
    });
    expect(told('handlerFails')).toEqual([]);
  });
});

describe('refunds', () => {
  /** Requested, and due. */
  async function owed(): Promise<void> {
    for (let n = 0; n < MANY; n++) {
      const order = await paid();
      await world.get(CreateRefund).create(order.id, { ...OLGA, amount: 100 });
    }
  }
  const done = async () =>
    (await count(`refunds WHERE status = 'succeeded'`)) === MANY || undefined;

  it('wait for a handler with a bug as one, and all are made once it is mended', async () => {
    await owed();
    const bug = new TypeError("Cannot read properties of undefined (reading 'amount')");
    const settling = jest.spyOn(SettleRefunds.prototype, 'settle').mockRejectedValue(bug);
    await makeDue('refund');
    await ask();
    expect(told('handlerFails').map(({ args }) => args)).toEqual([['refund', bug]]);
    const asked = settling.mock.calls.length;
    await makeDue('refund');
    await ask();
    expect(settling.mock.calls.length - asked).toBeLessThanOrEqual(10);
    await nobodyIsHeld();
    settling.mockRestore();
    await until('all are made', async () => {
      await makeDue('refund');
      await ask();
      return done();
    });
    expect(told('handlerFails')).toHaveLength(1);
    expect(told('handlerWorks')).toHaveLength(1);
    expect(await brokenInvariants(world)).toEqual([]);
  });

  it('do not speak against the handler while their provider is down', async () => {
    await owed();
    world.provider.unreachable = 'before';
    for (let round = 0; round < 3; round++) {
      await makeDue('refund');
      await ask();
    }
    world.provider.unreachable = undefined;
    await until('all are made', async () => {
      await makeDue('refund');
      await ask();
      return done();
    });
    expect(told('handlerFails')).toEqual([]);
  });
});
