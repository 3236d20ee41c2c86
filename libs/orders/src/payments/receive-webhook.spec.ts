import { randomUUID } from 'node:crypto';
import { inTransaction, RedlockLock } from '@app/timeout';
import { Client } from 'pg';
import { atLeisure } from '../../../../test/support/at-leisure';
import { insertOrders, type InsertedOrder } from '../../../../test/support/insert-orders';
import { untilLocksAreWaitedFor } from '../../../../test/support/lock-waits';
import { type Posted, post } from '../../../../test/support/ledger-provider';
import { testServers } from '../../../../test/support/database';
import { openWorld, type World } from '../../../../test/support/world';
import { orderLockKey } from '../order/order';
import { runInvariants } from '../invariants/run-invariants';
import { ApplyNotices } from './apply-notices';
import { ReceiveWebhook } from './receive-webhook';
import { type StoredWebhook, unknownAmong } from './webhook-inbox';

/** The machine's own clock is wrong; its timers go on. */
const ALL_BUT_DATE = [
  ...(['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate'] as const),
  ...(['clearImmediate', 'nextTick', 'queueMicrotask', 'performance', 'hrtime'] as const),
] as const;

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());
beforeEach(() => world.rows('TRUNCATE webhook_events'));
afterEach(async () => {
  // Nothing sweeps or relays here: what waits for that is as old as this file has run.
  const results = await runInvariants(world, { limitMs: 3_600_000, newest: 'all' });
  expect(results.filter(({ violations }) => violations > 0)).toEqual([]);
});

const receive = ({ body, headers }: Posted) =>
  world.get(ReceiveWebhook).receive('sandbox', body, headers);
const open = async (): Promise<InsertedOrder & { paymentId: string }> => {
  const [order] = await insertOrders(world, { count: 1, closesInMs: 60_000, payment: 'open' });
  const { paymentId, amount } = order as InsertedOrder & { paymentId: string };
  world.provider.open({ paymentId, amount, currency: 'EUR' });
  return order as InsertedOrder & { paymentId: string };
};
const pay = (paymentId: string, amount?: number): Posted =>
  world.provider.pay(paymentId, new Date(), { amount }) as Posted;
/** The provider says that nobody will pay this one of its payments, with our reference. */
const ended = (
  { paymentId }: { paymentId: string },
  type: 'payment.failed' | 'payment.closed' = 'payment.failed',
  providerPaymentId = `pay-${paymentId}`,
): Posted => post({ eventId: randomUUID(), type, paymentId, providerPaymentId });
const status = async (id: string) =>
  (await world.rows<{ status: string }>('SELECT status FROM orders WHERE id = $1', [id]))[0]
    ?.status;
const paymentOf = async ({ paymentId }: { paymentId: string }) =>
  (
    await world.rows<{ status: string }>('SELECT status FROM payments WHERE id = $1', [paymentId])
  )[0]?.status;
const inbox = () =>
  world.rows<{ status: string; result: string | null }>(
    'SELECT status, result FROM webhook_events ORDER BY received_at, id',
  );

describe('ReceiveWebhook', () => {
  it('has stored and applied a webhook when it answers', async () => {
    const order = await open();
    await receive(pay(order.paymentId));
    expect(await status(order.id)).toBe('paid');
    expect(await inbox()).toEqual([{ status: 'processed', result: 'paid' }]);
  });

  it('leaves the order to whoever comes next', async () => {
    const redis = testServers().redisUrl;
    const lock = new RedlockLock({ redis, onError: () => undefined, callTimeoutMs: 10_000 });
    const locked = await openWorld({ beside: world, lock });
    try {
      const order = await open();
      const { body, headers } = pay(order.paymentId);
      await locked.get(ReceiveWebhook).receive('sandbox', body, headers);
      const next = await lock.acquireOne(orderLockKey(order.id));
      expect(next.outcome).toBe('held');
      await next.release();
    } finally {
      await locked.close();
    }
  });

  it('has one effect when one notice comes fifty times at once', async () => {
    const order = await open();
    const notice = pay(order.paymentId);
    await Promise.all(Array.from({ length: 50 }, () => receive(notice)));
    expect(await inbox()).toEqual([{ status: 'processed', result: 'paid' }]);
    expect(
      await world.rows('SELECT 1 FROM order_events WHERE order_id = $1', [order.id]),
    ).toHaveLength(2);
  });

  it('knows the same capture told as two events', async () => {
    const order = await open();
    const first = pay(order.paymentId);
    const entry = world.provider.entries.get(`pay-${order.paymentId}`);
    await Promise.all([receive(first), receive(world.provider.succeeded(entry as never))]);
    expect((await inbox()).map(({ result }) => result).sort()).toEqual(['known', 'paid']);
    expect(await world.rows('SELECT 1 FROM refunds')).toEqual([]);
  });

  it('lets money beat a failure, in either order', async () => {
    const [one, two] = [await open(), await open()];
    await receive(ended(one));
    await receive(pay(one.paymentId));
    await receive(pay(two.paymentId));
    await receive(ended(two));
    expect([await status(one.id), await status(two.id)]).toEqual(['paid', 'paid']);
  });

  it('ends no payment by what is said of another one of the provider', async () => {
    const order = await open();
    await receive(ended(order, 'payment.closed', 'pay-of-another'));
    expect(await inbox()).toEqual([{ status: 'processed', result: 'known' }]);
    expect(await paymentOf(order)).toBe('open');
  });

  it('hears of each payment in one batch, also beside what is said of another one', async () => {
    const [order, unanswered] = [await open(), await open()];
    const forget = 'UPDATE payments SET provider_payment_id = NULL WHERE id = $1';
    await world.rows(forget, [unanswered.paymentId]);
    const batch = [
      ended(order, 'payment.closed', 'pay-of-another'),
      ended(order),
      ended(unanswered, 'payment.closed'),
    ].map(({ body }): StoredWebhook => ({
      ...{ webhookId: randomUUID(), provider: 'sandbox' },
      notice: JSON.parse(body.toString()) as StoredWebhook['notice'],
    }));
    const outcomes = await inTransaction(world.dataSource, (tx) =>
      world.get(ApplyNotices).apply(tx, batch),
    );
    const results = outcomes.map(({ result }) => result);
    expect(results).toEqual(['known', 'payment_ended', 'payment_ended']);
    expect([await paymentOf(order), await paymentOf(unanswered)]).toEqual(['failed', 'closed']);
  });

  it('ends one later whose row somebody had, also where its id there is not known', async () => {
    const order = await open();
    const { paymentId } = order;
    await world.rows('UPDATE payments SET provider_payment_id = NULL WHERE id = $1', [paymentId]);
    const holder = new Client({ connectionString: world.config.DATABASE_URL });
    await holder.connect();
    try {
      await holder.query('BEGIN');
      await holder.query('SELECT FROM payments WHERE id = $1 FOR UPDATE', [paymentId]);
      await receive(ended(order));
    } finally {
      await holder.end();
    }
    await world.timeouts.runSweep();
    expect(await paymentOf(order)).toBe('failed');
  });

  it("judges a webhook's age by the database's clock, not by its own machine's", async () => {
    const order = await open();
    const notice = pay(order.paymentId);
    const reading = jest.spyOn(world.provider, 'readWebhook');
    const realMs = Date.now();
    jest.useFakeTimers({ now: realMs + 3_600_000, doNotFake: [...ALL_BUT_DATE] });
    try {
      await receive(notice);
    } finally {
      jest.useRealTimers();
    }
    const [, , judgedBy] = reading.mock.calls[0] as unknown as [Buffer, object, Date];
    reading.mockRestore();
    expect(Math.abs(judgedBy.getTime() - realMs)).toBeLessThan(60_000);
    expect(await inbox()).toEqual([{ status: 'processed', result: 'paid' }]);
  });

  it('keeps what it does not know, for an operator', async () => {
    for (const paymentId of [randomUUID(), 'no uuid at all']) {
      const money = { amount: 500, currency: 'EUR', paidAt: new Date() };
      const ids = { paymentId, providerPaymentId: 'pay-x' };
      await receive(post({ eventId: randomUUID(), type: 'payment.succeeded', ...ids, money }));
    }
    expect(await inbox()).toEqual([
      { status: 'held', result: 'unknown_reference' },
      { status: 'held', result: 'unknown_reference' },
    ]);
  });

  it('holds nothing of a payment that it does not know, and that came to nothing', async () => {
    for (const type of ['payment.closed', 'payment.failed'] as const) {
      const ids = { paymentId: randomUUID(), providerPaymentId: 'pay-x' };
      await receive(post({ eventId: randomUUID(), type, ...ids }));
    }
    expect(await inbox()).toEqual([
      { status: 'processed', result: 'not_ours' },
      { status: 'processed', result: 'not_ours' },
    ]);
  });

  it('holds money that is not what was asked for, and does not sell for it', async () => {
    const order = await open();
    await receive(pay(order.paymentId, 1));
    expect(await status(order.id)).toBe('pending_payment');
    expect(await inbox()).toEqual([{ status: 'held', result: 'money_on_hold' }]);
    expect(
      await world.rows(
        'SELECT status, captured_amount, hold_reason FROM payments WHERE order_id = $1',
        [order.id],
      ),
    ).toEqual([{ status: 'succeeded', captured_amount: '1', hold_reason: 'amount_mismatch' }]);
  });

  it('stores alone what cannot be applied, beside its neighbours', async () => {
    const orders = [await open(), await open(), await open()];
    const [, poisoned] = orders as [unknown, { id: string }];
    // Stands for a bug that one order's data brings out.
    await world.rows(
      `CREATE FUNCTION explode() RETURNS trigger AS $$ BEGIN RAISE 'poison'; END $$ LANGUAGE plpgsql`,
    );
    await world.rows(`CREATE TRIGGER poison BEFORE UPDATE ON orders FOR EACH ROW
                      WHEN (OLD.id = '${poisoned.id}') EXECUTE FUNCTION explode()`);
    // The parts of a group that fails are tried for a second, which is little for a busy machine.
    await atLeisure(() => Promise.all(orders.map(({ paymentId }) => receive(pay(paymentId)))));
    expect((await inbox()).map((row) => row.status).sort()).toEqual([
      'processed',
      'processed',
      'received',
    ]);
    await world.rows('DROP TRIGGER poison ON orders');
    await world.timeouts.runSweep();
    expect(await status(poisoned.id)).toBe('paid');
  });

  it('applies one later whose row somebody had when it was due', async () => {
    const order = await open();
    const holder = new Client({ connectionString: world.config.DATABASE_URL });
    await holder.connect();
    try {
      await holder.query('BEGIN');
      await holder.query('SELECT FROM orders WHERE id = $1 FOR UPDATE', [order.id]);
      await receive(pay(order.paymentId));
      await holder.query('COMMIT');
      await holder.query('BEGIN');
      await holder.query('SELECT FROM webhook_events FOR UPDATE');
      const { lost, putBack } = await world.timeouts.runSweep();
      expect({ lost, putBack }).toEqual({ lost: 0, putBack: 1 });
    } finally {
      await holder.end();
    }
    await world.rows(
      `UPDATE deadlines SET due_at = now() - interval '1 ms' WHERE kind = 'webhook'`,
    );
    await world.timeouts.runSweep();
    expect(await status(order.id)).toBe('paid');
    expect(await inbox()).toEqual([{ status: 'processed', result: 'paid' }]);
  });

  it('takes what it does not know, each once, and in one order whoever is told of it', async () => {
    await receive(post({ eventId: 'evt-2', type: 'ignored' }));
    const told = ['evt-3', 'evt-1', 'evt-2', 'evt-3'].map((eventId) => ({ eventId }));
    const unknown = await inTransaction(world.dataSource, (tx) =>
      unknownAmong(tx, 'sandbox', told as never),
    );
    expect(unknown).toEqual([{ eventId: 'evt-1' }, { eventId: 'evt-3' }]);
  });

  it('settles what another request has stored meanwhile, and could not apply', async () => {
    const order = await open();
    const notice = pay(order.paymentId);
    const { eventId } = JSON.parse(notice.body.toString()) as { eventId: string };
    const other = new Client({ connectionString: world.config.DATABASE_URL });
    await other.connect();
    try {
      await other.query('BEGIN');
      await other.query(
        `INSERT INTO webhook_events (id, provider, event_id, notice) VALUES ($1, 'sandbox', $2, $3)`,
        [randomUUID(), eventId, notice.body.toString()],
      );
      const received = receive(notice);
      await untilLocksAreWaitedFor(other, 1);
      await other.query('COMMIT');
      await received;
    } finally {
      await other.end();
    }
    expect(await inbox()).toEqual([{ status: 'processed', result: 'paid' }]);
    expect(await status(order.id)).toBe('paid');
  });

  it('rejects, having stored nothing, when the database is away', async () => {
    const order = await open();
    const notice = pay(order.paymentId);
    const createQueryRunner = world.dataSource.createQueryRunner.bind(world.dataSource);
    const away = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const spy = jest.spyOn(world.dataSource, 'createQueryRunner').mockImplementation((mode) => {
      const runner = createQueryRunner(mode);
      runner.commitTransaction = () => Promise.reject(away);
      return runner;
    });
    await expect(receive(notice)).rejects.toMatchObject({ cause: away });
    spy.mockRestore();
    expect(await inbox()).toEqual([]);
    await receive(notice);
    expect(await status(order.id)).toBe('paid');
  });
});
