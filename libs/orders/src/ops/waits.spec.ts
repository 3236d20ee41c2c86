import { randomUUID } from 'node:crypto';
import { inTransaction } from '@app/timeout';
import { anotherPayment } from '../../../../test/support/another-payment';
import { insertOrders } from '../../../../test/support/insert-orders';
import { post, type Posted } from '../../../../test/support/ledger-provider';
import {
  brokenInvariants,
  closeUnanswered,
  openOrder,
  type Payable,
  paidOrder,
  receive,
  tell,
} from '../../../../test/support/paid-order';
import { settlePayment } from '../../../../test/support/settle-payment';
import { openWorld, type World } from '../../../../test/support/world';
import { ShipOrder } from '../fulfilment/ship-order';
import { WarnShipments } from '../fulfilment/warn-shipments';
import { SettleRefunds } from '../money/settle-refunds';
import { CreateRefund } from './create-refund';
import { Deliveries } from '../deliveries/deliveries';
import { WebhookEndpoints } from '../deliveries/endpoints';
import { DismissWebhook } from './dismiss-webhook';
import { ExamineInstallation } from './doctor/examine-installation';
import { ExamineProviders } from './doctor/examine-providers';
import { Gauges } from './gauges';
import { RetryRefund } from './refunds';
import { ReleaseDeadlines } from './release-deadlines';
import { SettleOrder } from './settle-order';
import { TimeoutBrake } from './timeout-brake';
import { VerifyDeadlines } from './verify-deadlines';
import { ALL_WAITS, readWaits, WAIT_NAMES, type WaitName, WAITS } from './waits';
import { WatchWaits } from './watch-waits';

const OLGA = { actor: 'olga', reason: 'case 9' };
let world: World;
const DOCTOR = [ExamineInstallation, ExamineProviders, VerifyDeadlines, TimeoutBrake];
beforeAll(async () => (world = await openWorld({ provides: DOCTOR })));
afterAll(() => world?.close());

const alerts = (name: string) =>
  world.told
    .filter((one) => one.name === 'alert' && one.args[0] === name)
    .map(({ args }) => args[1]);
const idOf = async (sql: string, params: unknown[]): Promise<string> =>
  (await world.rows<{ id: string }>(sql, params))[0]?.id as string;

async function refund(to: 'requested' | 'pending' | 'needs_attention'): Promise<string> {
  const order = await paidOrder(world);
  const { refundIds } = await world.get(CreateRefund).create(order.id, { ...OLGA, amount: 300 });
  const [id] = refundIds as [string];
  await world.rows('UPDATE refunds SET status = $2, updated_at = now() WHERE id = $1', [id, to]);
  return id;
}

async function settleRefund(id: string): Promise<void> {
  const answer = { state: 'SUCCEEDED', providerRefundId: `r-${id}` } as const;
  await inTransaction(world.dataSource, (tx) =>
    world.get(SettleRefunds).settle(tx, id, 1, answer, 'reconcile'),
  );
}

const endpoint = async (): Promise<string> =>
  (
    await world
      .get(WebhookEndpoints)
      .create({ url: 'https://shop.example/hooks', events: ['*'] }, OLGA)
  ).endpoint.id;

const older = (sql: string) => (id: string) => world.rows(sql, [id]);

/** How each comes to be, how it gets older than it may, and the exit that the runbook tells. */
const LIVES: Readonly<
  Record<
    WaitName,
    {
      readonly begin: () => Promise<string>;
      readonly grow: (id: string) => Promise<unknown>;
      readonly end: (id: string) => Promise<unknown>;
    }
  >
> = {
  closing: {
    begin: async () => {
      const order = await openOrder(world);
      await closeUnanswered(world, order.id, OLGA);
      return order.id;
    },
    grow: older(`UPDATE order_events SET at = at - interval '10 minutes' WHERE order_id = $1`),
    end: (id) => world.get(SettleOrder).settle(id, { ...OLGA, as: 'closed' }),
  },
  payment_unended: {
    begin: async () => {
      const order = await openOrder(world);
      await anotherPayment(world, order.id, { status: 'open' });
      await receive(world, world.provider.pay(order.paymentId, new Date()) as Posted);
      return order.id;
    },
    grow: older(`UPDATE orders SET paid_at = paid_at - interval '10 minutes' WHERE id = $1`),
    end: (id) => world.get(SettleOrder).settle(id, { ...OLGA, as: 'closed' }),
  },
  payment_on_hold: {
    begin: async () => {
      const order = await openOrder(world);
      await receive(
        world,
        world.provider.pay(order.paymentId, new Date(), { amount: 1 }) as Posted,
      );
      return order.paymentId;
    },
    grow: (id) =>
      Promise.all([
        world.rows(`UPDATE payments SET recorded_at = now() - interval '1 hour' WHERE id = $1`, [
          id,
        ]),
        world.rows(`UPDATE money_movements SET at = at - interval '1 hour' WHERE payment_id = $1`, [
          id,
        ]),
      ]),
    end: (id) => settlePayment(world, id, 'refund'),
  },
  webhook_held: {
    begin: async () => {
      const eventId = randomUUID();
      const money = { amount: 7, currency: 'EUR', paidAt: new Date() };
      const what = { type: 'payment.succeeded', paymentId: randomUUID(), money };
      await receive(world, post({ eventId, providerPaymentId: 'theirs', ...what }));
      return idOf('SELECT id FROM webhook_events WHERE event_id = $1', [eventId]);
    },
    grow: older(`UPDATE webhook_events SET received_at = now() - interval '1 hour' WHERE id = $1`),
    end: (id) => new DismissWebhook(world.dataSource).dismiss(id, OLGA),
  },
  deadline_held: {
    begin: async () => {
      const [order] = await insertOrders(world, { count: 1, closesInMs: -1 });
      await world.rows(
        `WITH taken AS (DELETE FROM deadlines WHERE subject_id = $1 RETURNING *)
         INSERT INTO held_deadlines (kind, subject_id, due_at, version, failures, error)
         SELECT kind, subject_id, due_at, version, 8, 'poisoned' FROM taken`,
        [order?.id],
      );
      return order?.id as string;
    },
    grow: older(
      `UPDATE held_deadlines SET held_at = now() - interval '1 hour' WHERE subject_id = $1`,
    ),
    end: (id) =>
      new ReleaseDeadlines(world.dataSource, world.timeouts).release({ subjectIds: [id] }, OLGA),
  },
  refund_unsent: {
    begin: () => refund('requested'),
    grow: older(`UPDATE refunds SET updated_at = now() - interval '1 hour' WHERE id = $1`),
    end: () => world.timeouts.runSweep(),
  },
  refund_pending: {
    begin: () => refund('pending'),
    grow: older(`UPDATE refunds SET updated_at = now() - interval '9 days' WHERE id = $1`),
    end: settleRefund,
  },
  refund_in_attention: {
    begin: () => refund('needs_attention'),
    grow: older(`UPDATE refunds SET updated_at = now() - interval '1 hour' WHERE id = $1`),
    end: (id) => new RetryRefund(world.dataSource, world.timeouts).retry(id, OLGA),
  },
  webhook_endpoint_off: {
    begin: async () => {
      const id = await endpoint();
      await world.rows(`UPDATE webhook_endpoints SET status = 'off' WHERE id = $1`, [id]);
      return id;
    },
    grow: older(`UPDATE webhook_endpoints SET status_at = now() - interval '1 hour' WHERE id = $1`),
    end: (id) => world.get(WebhookEndpoints).switchOn(id, OLGA),
  },
  delivery_dead: {
    begin: async () => {
      const id = await endpoint();
      await world.rows(
        `INSERT INTO webhook_deliveries (endpoint_id, order_id, version, type, retry_until, status, settled_at)
         SELECT $1, gen_random_uuid(), n, 'order.paid', now(), 'dead', now() FROM generate_series(1, 3) AS n`,
        [id],
      );
      return id;
    },
    grow: older(
      `UPDATE webhook_deliveries SET settled_at = now() - interval '1 hour' WHERE endpoint_id = $1`,
    ),
    end: (id) => world.get(Deliveries).redeliver(id, undefined, OLGA),
  },
  dispute: {
    begin: async () => {
      const order = await paidOrder(world);
      await tell(world, order, 'dispute.opened', { disputeId: 'd1', amount: 1_000 });
      return order.paymentId;
    },
    grow: older(`UPDATE money_movements SET at = at - interval '1 hour' WHERE payment_id = $1`),
    end: (paymentId) =>
      tell(world, { paymentId } as Payable, 'dispute.won', { disputeId: 'd1', amount: 1_000 }),
  },
};

describe.each(WAIT_NAMES)('what waits as %s', (what) => {
  it('gets an alert once it is too old, which doctor finds, and ends as the runbook says', async () => {
    const { begin, grow, end } = LIVES[what];
    const waits = async () =>
      (
        await world.rows<{ id: string }>(
          `SELECT subject_id AS id FROM (${ALL_WAITS}) AS waits WHERE what = $1`,
          [what],
        )
      ).map((row) => row.id);
    const findings = async () =>
      (await world.get(ExamineInstallation).run())
        .filter(({ state }) => state === 'finding')
        .map(({ name, fix }) => `${name}: ${fix}`);
    // What others have left behind is sent before.
    await world.timeouts.runSweep();
    const before = await findings();
    const id = await begin();
    expect(await waits()).toEqual([id]);
    expect((await world.get(Gauges).read()).waits[what].count).toBe(1);
    await grow(id);
    const [exit = ''] = WAITS[what].exit.split(',');
    const found = (await findings()).find((one) => !before.includes(one) && one.includes(exit));
    expect(found).toBeDefined();
    expect(await brokenInvariants(world)).toContain('15 waits_told: 1');
    await world.get(WatchWaits).runOnce();
    expect(alerts('waits_too_long')).toContainEqual({
      ...{ what, count: 1, subjects: [id], exit: WAITS[what].exit },
    });
    expect(await world.get(WatchWaits).runOnce()).toEqual({ told: 0 });
    expect((await brokenInvariants(world)).filter((one) => one.startsWith('15'))).toEqual([]);
    await end(id);
    expect(await waits()).toEqual([]);
    expect((await readWaits(world))[what]).toEqual({ count: 0, tooOld: 0, oldestSeconds: 0 });
    expect(await findings()).not.toContain(found);
    await world.get(WatchWaits).runOnce();
    expect(await world.rows('SELECT FROM waits_told')).toEqual([]);
  });
});

describe('a paid order that nobody ships', () => {
  const DAY_MS = 86_400_000;
  const paidDaysAgo = async (days: number): Promise<Payable> => {
    const order = await paidOrder(world, { shipWithinMs: 30 * DAY_MS });
    await world.rows(
      `WITH moved AS (UPDATE orders SET paid_at = paid_at - $2 * interval '1 day' WHERE id = $1)
       UPDATE deadlines SET due_at = due_at - $2 * interval '1 day' WHERE subject_id = $1`,
      [order.id, days],
    );
    return order;
  };
  const eventsOf = async ({ id }: Payable) =>
    (
      await world.rows<{ type: string }>(
        'SELECT type FROM order_events WHERE order_id = $1 ORDER BY version',
        [id],
      )
    ).map(({ type }) => type);

  it('is told of three days before its money goes back, once', async () => {
    const [far, near, shipped] = [
      await paidDaysAgo(26),
      await paidDaysAgo(28),
      await paidDaysAgo(28),
    ];
    await world.get(ShipOrder).ship(shipped.id, 'mia');
    const warning = world.get(WarnShipments);
    expect((await world.get(Gauges).read()).automaticRefundsAhead).toBe(1);
    expect(await warning.runOnce()).toEqual({ warned: 1 });
    expect(await warning.runOnce()).toEqual({ warned: 0 });
    expect(alerts('automatic_refunds_ahead')).toEqual([{ orders: 1 }]);
    expect(await eventsOf(near)).toContain('order.shipment_due');
    for (const order of [far, shipped]) {
      expect(await eventsOf(order)).not.toContain('order.shipment_due');
    }
    expect(await brokenInvariants(world)).toEqual([]);
    // Its deadline is still its own: it is refunded when it has passed.
    await world.rows(
      `WITH moved AS (UPDATE orders SET paid_at = paid_at - interval '3 days' WHERE id = $1)
       UPDATE deadlines SET due_at = due_at - interval '3 days' WHERE subject_id = $1`,
      [near.id],
    );
    await world.timeouts.runSweep();
    expect(await eventsOf(near)).toContain('order.canceled');
    expect(await brokenInvariants(world)).toEqual([]);
  });

  it('is not refunded in masses after the clock has jumped: the brake counts it', async () => {
    const orders: Payable[] = [];
    for (let i = 0; i < 12; i++) orders.push(await paidDaysAgo(31));
    const [clock] = await world.rows<{ now: Date }>('SELECT now() AS now');
    const { brake } = world.timeouts;
    await brake.refresh();
    const hourAhead = new Date((clock?.now as Date).getTime() + 3_600_000);
    expect(brake.wantsToJudge(hourAhead, brake.uptimeMs())).toBe(true);
    await brake.judge();
    await world.timeouts.runSweep();
    expect(alerts('timeouts_stopped')).toMatchObject([
      { kind: 'shipment', cause: 'clock_jumped', due: 12 },
    ]);
    for (const order of orders) expect(await eventsOf(order)).not.toContain('order.canceled');
  });
});
