import { randomUUID } from 'node:crypto';
import { anotherPayment } from '../../../../test/support/another-payment';
import type { Posted } from '../../../../test/support/ledger-provider';
import { brokenInvariants, moneyOf, type Placed } from '../../../../test/support/money';
import { settlePayment } from '../../../../test/support/settle-payment';
import { openWorld, type World } from '../../../../test/support/world';
import { Gauges } from '../ops/gauges';
import { WatchWaits } from '../ops/watch-waits';
import { ShipOrder } from './ship-order';
import { WarnShipments } from './warn-shipments';

const DAY_MS = 86_400_000;

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());
afterEach(async () => {
  // Nothing is near for the next one.
  await world.rows(
    `UPDATE deadlines SET due_at = now() + interval '9 days' WHERE kind = 'shipment'`,
  );
  expect(await brokenInvariants(world)).toEqual([]);
});

const { receive, paid, tell, disputed, read, refundsOf } = moneyOf(() => world);
const ship = ({ id }: Placed) => world.get(ShipOrder).ship(id, 'mia');
const warn = () => world.get(WarnShipments).runOnce();
const near = async () => (await world.get(Gauges).read()).automaticRefundsAhead;

/** An order that has to be shipped within thirty days, and was paid so many days ago. */
async function paidDaysAgo(days: number): Promise<Placed> {
  const order = await paid({ shipWithinMs: 30 * DAY_MS });
  await world.rows(
    `WITH moved AS (UPDATE orders SET paid_at = paid_at - $2 * interval '1 day' WHERE id = $1)
     UPDATE deadlines SET due_at = due_at - $2 * interval '1 day' WHERE subject_id = $1`,
    [order.id, days],
  );
  return order;
}

/** What was put off is looked at again. */
async function comesDue({ id }: Placed): Promise<void> {
  await world.rows(
    `UPDATE deadlines SET due_at = least(due_at, now() - interval '1 second')
      WHERE kind = 'shipment' AND subject_id = $1`,
    [id],
  );
  await world.timeouts.runSweep();
}

async function daysPass({ id }: Placed, days: number): Promise<void> {
  await world.rows(
    `WITH told AS (UPDATE order_events SET at = at - $2 * interval '1 day' WHERE order_id = $1)
     UPDATE money_movements SET at = at - $2 * interval '1 day' WHERE order_id = $1`,
    [id, days],
  );
  await world.get(WatchWaits).runOnce();
}

/** How nobody knows for a while whose its money is, and how that ends. */
const UNDECIDED = {
  'dispute is won': {
    begin: (order: Placed) => disputed(order, 'opened'),
    end: (order: Placed) => disputed(order, 'won'),
    back: '1000',
  },
  'dispute about a part is lost': {
    begin: (order: Placed) => disputed(order, 'opened', 'dp', 400),
    end: (order: Placed) => disputed(order, 'lost', 'dp', 400),
    back: '600',
  },
  'money is on hold no more': {
    begin: (order: Placed) =>
      tell(order, 'payment.succeeded', {
        money: { amount: 999, currency: 'EUR', paidAt: new Date() },
      }),
    end: (order: Placed) => settlePayment(world, order.paymentId, 'keep'),
    back: '1000',
  },
};

describe.each(Object.entries(UNDECIDED))('an order whose %s', (_, { begin, end, back }) => {
  it('after its time to be shipped has three days more to be shipped', async () => {
    const [shipped, late] = [await paidDaysAgo(70), await paidDaysAgo(70)];
    await begin(shipped);
    await begin(late);
    for (const order of [shipped, late]) {
      await comesDue(order);
      await end(order);
      await comesDue(order);
      expect((await read(order)).status).toBe('paid');
    }
    expect((await ship(shipped)).status).toBe('shipped');
    await daysPass(late, 3);
    await comesDue(late);
    expect(await read(late)).toMatchObject({ closeReason: 'shipment_timeout' });
    expect(await refundsOf(late)).toMatchObject([{ amount: back }]);
  });

  it('is not told of while nobody may ship it, and is told of once that is over', async () => {
    const order = await paidDaysAgo(28);
    expect(await warn()).toEqual({ warned: 1 });
    await begin(order);
    await daysPass(order, 1);
    expect(await near()).toBe(0);
    expect(await warn()).toEqual({ warned: 0 });
    await end(order);
    expect(await near()).toBe(1);
    expect(await warn()).toEqual({ warned: 1 });
    expect(await warn()).toEqual({ warned: 0 });
  });

  it('is told of once, also where the clock is behind what ended that', async () => {
    const order = await paidDaysAgo(28);
    await begin(order);
    await end(order);
    await daysPass(order, -1);
    expect(await warn()).toEqual({ warned: 1 });
    expect(await warn()).toEqual({ warned: 0 });
  });

  it('before it was told of is told of once, and not before that', async () => {
    const order = await paidDaysAgo(31);
    await begin(order);
    await comesDue(order);
    expect(await warn()).toEqual({ warned: 0 });
    await end(order);
    expect(await warn()).toEqual({ warned: 1 });
  });
});

describe('a dispute about money that pays for nothing', () => {
  const takenTwice = async (order: Placed): Promise<() => Promise<void>> => {
    const paymentId = await anotherPayment(world, order.id, { status: 'open' });
    world.provider.open({ paymentId, amount: 1_000, currency: 'EUR' });
    await receive(world.provider.pay(paymentId, new Date()) as Posted);
    return () => disputed({ ...order, paymentId }, 'opened');
  };
  const keptBeside = async (order: Placed): Promise<() => Promise<void>> => {
    const of = { providerPaymentId: `other-${order.id}` };
    const money = { amount: 700, currency: 'EUR', paidAt: new Date() };
    await tell(order, 'payment.succeeded', { ...of, money });
    const [stray] = await world.rows<{ id: string }>(
      'SELECT id FROM payments WHERE order_id = $1 AND hold_reason IS NOT NULL',
      [order.id],
    );
    await settlePayment(world, stray?.id as string, 'keep');
    await daysPass(order, 3);
    return () => tell(order, 'dispute.opened', { ...of, disputeId: randomUUID(), amount: 700 });
  };

  it.each([
    ['was taken twice', takenTwice],
    ['was kept by the shop', keptBeside],
  ])('as it %s, keeps no order that another payment has paid', async (_, besides) => {
    const [shipped, late] = [await paidDaysAgo(31), await paidDaysAgo(31)];
    for (const order of [shipped, late]) {
      const dispute = await besides(order);
      await dispute();
    }
    expect(await near()).toBe(2);
    expect((await ship(shipped)).status).toBe('shipped');
    await comesDue(late);
    expect(await read(late)).toMatchObject({ closeReason: 'shipment_timeout' });
  });
});
