import 'reflect-metadata';
import {
  type Check,
  type Config,
  hostOptionsAsConfig,
  type HooksOrders,
  type HookTx,
  LastcallError,
  migrate,
  OrderHook,
  OrdersModule,
  type OrdersHostOptions,
  type OrderTransition,
  PlaceOrder,
  seedProducts,
  StartPayment,
  type StockPort,
} from '@app/orders';
import { Test, type TestingModule } from '@nestjs/testing';
import { DataSource } from 'typeorm';
import { CancelOrderByOperator } from '../../libs/orders/src/ops/cancel-order-by-operator';
import { CarryOutErrands } from '../../libs/orders/src/errands/carry-out-errands';
import { Gate } from '../../libs/timeout/src/testing/gate';
import { CLI_TEST_TIMEOUT_MS } from '../support/cli-world';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { holdMoney } from '../support/hold-money';
import { endHost, lastcall, lastcallJson, operatorNamed } from '../support/lastcall';
import { LedgerProvider } from '../support/ledger-provider';
import { until } from '../support/until';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

const WHO = ['--reason', 'case 17', '--actor', 'eve'];
const BY = [...WHO, '--yes'];
const SKU = 'TEA-SENCHA';

interface Failure {
  readonly error: { readonly code: string; readonly message: string };
}

interface Closed {
  readonly closed: number;
  readonly failed: number;
  readonly orders: readonly { readonly outcome: string; readonly message: string | null }[];
}

/** What hooks and stock have heard is in the host's own tables: it commits with the orders, or not at all. */
let breaksDown: Error | undefined;

@OrderHook()
class Coupons implements HooksOrders {
  async onTransition({ to, by, reason, orderIds }: OrderTransition, tx: HookTx): Promise<void> {
    await tx.query(
      `INSERT INTO coupon_log (order_id, what) SELECT id, $1 FROM unnest($2::uuid[]) AS o (id)`,
      [`${to} by ${by}: ${reason}`, orderIds],
    );
    if (breaksDown && to !== 'pending_payment') throw breaksDown;
  }
}

const shelf: StockPort = {
  reserve: () => Promise.resolve([]),
  async apply(effect, orderIds, tx) {
    await tx.query(
      'INSERT INTO shelf_log (order_id, what) SELECT id, $1 FROM unnest($2::uuid[]) AS o (id)',
      [effect, orderIds],
    );
  },
};

describe('lastcall beside a host with hooks and a stock of its own', () => {
  const provider = new LedgerProvider('sandbox');
  let database: TestDatabase;
  let sql: DataSource;
  let config: Config;
  let options: OrdersHostOptions;
  let hosts: TestingModule[] = [];
  let placed = 0;

  const rows = <Row>(text: string, params: readonly unknown[] = []): Promise<Row[]> =>
    sql.query<Row[]>(text, [...params]);
  const run = <Result>(...args: string[]) => lastcallJson<Result>(config, args);

  async function startHost(): Promise<TestingModule> {
    const orders = OrdersModule.forRootAsync({ useFactory: () => options });
    const host = await Test.createTestingModule({
      imports: [orders],
      providers: [Coupons],
    }).compile();
    host.useLogger(false);
    await host.init();
    hosts.push(host);
    return host;
  }
  const stopHosts = async (): Promise<void> => {
    for (const host of hosts) await host.close();
    hosts = [];
  };

  async function place(sku = SKU): Promise<string> {
    const [host] = hosts as [TestingModule];
    const idempotencyKey = `${++placed}`;
    const customerId = `ann-${placed}`;
    const items = [{ sku, quantity: 1 }];
    const { order } = await host.get(PlaceOrder).place({ customerId, idempotencyKey, items });
    return order.id;
  }
  async function pay(orderId: string): Promise<string> {
    const [host] = hosts as [TestingModule];
    const [{ customer_id: customerId }] = (await rows<{ customer_id: string }>(
      'SELECT customer_id FROM orders WHERE id = $1',
      [orderId],
    )) as [{ customer_id: string }];
    const { payment } = await host.get(StartPayment).start({ orderId, customerId });
    return payment.id;
  }
  const statusOf = async (orderId: string): Promise<string | undefined> =>
    (await rows<{ status: string }>('SELECT status FROM orders WHERE id = $1', [orderId]))[0]
      ?.status;
  const heard = async (log: 'coupon_log' | 'shelf_log', orderId: string): Promise<string[]> =>
    (
      await rows<{ what: string }>(`SELECT what FROM public.${log} WHERE order_id = $1`, [orderId])
    ).map(({ what }) => what);
  const PLACED = 'pending_payment by customer: null';
  const CLOSED = 'closed by operator: case 17';

  beforeAll(async () => {
    database = await createTestDatabase();
    config = { DATABASE_URL: database.url } as Config;
    options = {
      postgres: { url: database.url },
      payments: [provider],
      stock: shelf,
      windows: { pay: '10m', grace: '100ms' },
      settings: { SWEEP_INTERVAL: '1s', MAX_OPEN_ORDERS: 'off' },
    };
    await migrate(hostOptionsAsConfig(options));
    sql = new DataSource({
      type: 'postgres',
      url: database.url,
      extra: { options: '-c search_path=lastcall' },
    });
    await sql.initialize();
    await seedProducts(sql);
    await sql.query(`
      INSERT INTO products (sku, name, unit_price, currency, on_hand, available)
      VALUES ('GIFT', 'Gift', 0, 'EUR', 100, 100);
      CREATE TABLE public.coupon_log (order_id uuid, what text);
      CREATE TABLE public.shelf_log (order_id uuid, what text)`);
    await startHost();
  });
  afterEach(() => void (breaksDown = undefined));
  afterAll(async () => {
    await endHost();
    await stopHosts();
    await sql?.destroy();
    await database?.drop();
  });

  it('closes by force in a process of the host: hook and stock hear of it once, who and why is kept', async () => {
    const orderId = await place();
    const closed = await run<Closed>('orders', 'force-close', orderId, ...BY);
    expect(closed).toMatchObject({ code: 0, result: { orders: [{ outcome: 'closed' }] } });
    expect(await statusOf(orderId)).toBe('closed');
    expect(await heard('coupon_log', orderId)).toEqual([PLACED, CLOSED]);
    expect(await heard('shelf_log', orderId)).toEqual(['release']);
    const history = await rows(
      `SELECT actor, reason FROM order_events WHERE order_id = $1 AND to_status = 'closed'`,
      [orderId],
    );
    expect(history).toEqual([{ actor: operatorNamed('eve'), reason: 'case 17' }]);
    expect(await rows('SELECT 1 FROM errands')).toEqual([]);
  });

  it.each([
    ['refuses', new LastcallError('order_refused', 'it is being booked'), 4, 'order_refused'],
    ['fails', new Error('the coupons have a bug'), 1, 'internal_error'],
  ])('changes nothing where a hook %s, and says so', async (_, thrown, code, why) => {
    const [unpaid, paid] = [await place(), await place('GIFT')];
    breaksDown = thrown;
    const closed = await run<Closed>('orders', 'force-close', unpaid, ...BY);
    expect(closed).toMatchObject({ code, result: { orders: [{ outcome: 'failed', why }] } });
    const canceled = await run<Failure>('orders', 'cancel', paid, ...BY);
    expect(canceled).toMatchObject({ code, result: { error: { code: why } } });
    if (thrown instanceof LastcallError) {
      expect(closed.result.orders[0]?.message).toBe(thrown.message);
      expect(canceled.result.error.message).toBe(thrown.message);
    }
    expect([await statusOf(unpaid), await statusOf(paid)]).toEqual(['pending_payment', 'paid']);
    expect(await heard('coupon_log', unpaid)).toEqual([PLACED]);
  });

  it('rehearses with the hooks, and rolls back what they wrote', async () => {
    const [unpaid, paid] = [await place(), await place('GIFT')];
    const before = [await heard('coupon_log', paid), await heard('shelf_log', paid)];
    breaksDown = new LastcallError('order_refused', 'it is being booked');
    const [refused, kept] = [
      await run<Closed>('orders', 'force-close', unpaid, ...WHO, '--dry-run'),
      await run<Failure>('orders', 'cancel', paid, ...WHO, '--dry-run'),
    ];
    expect(refused).toMatchObject({ code: 4, result: { orders: [{ why: 'order_refused' }] } });
    expect(kept).toMatchObject({ code: 4, result: { error: { code: 'order_refused' } } });
    breaksDown = undefined;
    const closed = await run<Closed>('orders', 'force-close', unpaid, ...WHO, '--dry-run');
    expect(closed).toMatchObject({ code: 0, result: { dryRun: true, closed: 1 } });
    const canceled = await run('orders', 'cancel', paid, ...WHO, '--dry-run');
    expect(canceled).toMatchObject({ code: 0, result: { dryRun: true, order: { id: paid } } });
    expect([await statusOf(unpaid), await statusOf(paid)]).toEqual(['pending_payment', 'paid']);
    expect(await heard('coupon_log', unpaid)).toEqual([PLACED]);
    expect([await heard('coupon_log', paid), await heard('shelf_log', paid)]).toEqual(before);
  });

  it('cancels a paid order there: the stock has it back once', async () => {
    const orderId = await place('GIFT');
    const canceled = await run('orders', 'cancel', orderId, ...BY);
    expect(canceled).toMatchObject({ code: 0, result: { order: { status: 'canceled' } } });
    expect(await heard('shelf_log', orderId)).toEqual(['sell', 'restock']);
    const again = await run<Failure>('orders', 'cancel', orderId, ...BY);
    expect(again).toMatchObject({ code: 4, result: { error: { code: 'order_not_cancelable' } } });
  });

  it('settles orders and money on hold there, and refunds what an order holds', async () => {
    const orderId = await place();
    const paymentId = await pay(orderId);
    provider.unreachable = 'before';
    await run('orders', 'force-close', orderId, ...BY);
    expect(await statusOf(orderId)).toBe('closing');
    const settled = await run('orders', 'settle', orderId, '--closed', ...BY);
    provider.unreachable = undefined;
    expect(settled).toMatchObject({ code: 0, result: { order: { status: 'closed' } } });
    const [{ amount } = { amount: 0 }] = await rows<{ amount: number }>(
      'SELECT amount::int FROM payments WHERE id = $1',
      [paymentId],
    );
    await holdMoney({ rows }, paymentId, amount, 'late_payment');
    const accepted = await run('payments', 'settle', paymentId, '--accept', ...BY);
    expect(accepted).toMatchObject({ code: 0, result: { decision: 'accept' } });
    const refund = ['refunds', 'create', orderId, '--amount', `${amount}`, ...BY];
    expect(await run(...refund)).toMatchObject({ code: 0, result: { replayed: false } });
    expect((await heard('coupon_log', orderId)).slice(1)).toEqual(
      ['closing', 'closed', 'paid', 'canceled'].map((to) => `${to} by operator: case 17`),
    );
    expect(await heard('shelf_log', orderId)).toEqual(['release', 'sell', 'restock']);
  });

  it('leaves fifty orders to two workers, and each is closed once', async () => {
    await startHost();
    const ids: string[] = [];
    for (let n = 0; n < 50; n++) ids.push(await place());
    const { code, result, stderr } = await run<Closed>('orders', 'force-close', ...ids, ...BY);
    expect({ code, closed: result.closed }).toEqual({ code: 0, closed: 50 });
    expect(stderr).toContain('Closing 50/50');
    const log = await rows(
      `SELECT count(*)::int AS n, count(DISTINCT order_id)::int AS orders
         FROM public.coupon_log WHERE what = $1 AND order_id = ANY ($2)`,
      [CLOSED, ids],
    );
    expect(log).toEqual([{ n: 50, orders: 50 }]);
    expect(await rows('SELECT 1 FROM errands')).toEqual([]);
  });

  it.each([['sweep run'], ['sweep run --shards 4'], ['reconcile --since 7d --fix']])(
    'refuses %s, which changes orders by itself',
    async (command) => {
      const { code, result } = await run<Failure>(...command.split(' '));
      expect({ code, result }).toMatchObject({
        code: 4,
        result: { error: { code: 'hooks_elsewhere' } },
      });
    },
  );

  it('changes nothing when its rehearsal at the worker was interrupted', async () => {
    const orderId = await place('GIFT');
    const gate = new Gate();
    const { prototype } = CancelOrderByOperator;
    const cancel = Reflect.get<CancelOrderByOperator, 'cancel'>(prototype, 'cancel');
    const asked = jest.spyOn(prototype, 'cancel').mockImplementation(async function (
      this: CancelOrderByOperator,
      ...args
    ) {
      await gate.pass();
      return cancel.apply(this, args);
    });
    const { code } = await lastcall(config, ['orders', 'cancel', orderId, ...BY], {
      interrupt: { when: gate.reached(), signal: 'SIGINT' },
      onStderr: (text) => text.includes('Stopping') && gate.open(),
    });
    expect(code).toBe(130);
    expect(asked.mock.calls.map(([, { dryRun }]) => dryRun)).toEqual([true]);
    expect(await statusOf(orderId)).toBe('paid');
    asked.mockRestore();
  });

  describe('whose processes have stopped', () => {
    let unpaid: string;
    let paid: string;
    beforeAll(async () => {
      [unpaid, paid] = [await place(), await place('GIFT')];
      await stopHosts();
    });
    const isUnchanged = async (): Promise<void> => {
      expect([await statusOf(unpaid), await statusOf(paid)]).toEqual(['pending_payment', 'paid']);
      expect(await rows('SELECT 1 FROM errands')).toEqual([]);
    };

    it('says that no worker came, and takes back what it asked for', async () => {
      const { code, result } = await run<Closed>('orders', 'force-close', unpaid, ...BY);
      const message = expect.stringContaining('No worker of the host has come') as string;
      expect({ code, result }).toMatchObject({
        code: 6,
        result: { failed: 1, orders: [{ outcome: 'failed', why: 'hooks_elsewhere', message }] },
      });
      await isUnchanged();
    });

    it.each(['cancel', 'force-close'])('takes %s back when it is interrupted', async (command) => {
      const isAsked = until(
        'it is asked for',
        async () => (await rows('SELECT 1 FROM errands')).length > 0,
      );
      const args = ['orders', command, command === 'cancel' ? paid : unpaid, ...BY];
      const { code } = await lastcall(config, args, {
        interrupt: { when: isAsked, signal: 'SIGINT' },
      });
      expect(code).toBe(130);
      await isUnchanged();
    });

    it('is told by doctor to start a worker, and not to sweep by a command', async () => {
      await rows(`UPDATE deadlines SET due_at = now() - interval '1 hour' WHERE subject_id = $1`, [
        paid,
      ]);
      const { result } = await run<{ checks: Check[] }>('doctor');
      const overdue = result.checks.find(({ name }) => name === 'overdue deadlines');
      expect(overdue?.fix).toContain('start a worker of the host');
      const hooks = result.checks.find(({ area, name }) => area === 'workers' && name === 'hooks');
      expect(hooks).toMatchObject({
        state: 'finding',
        detail: "the host's hooks or stock are known, and no live worker has them",
        fix: expect.stringContaining('start a worker of the host') as string,
      });
    });

    it('finds nothing of it left to do when one starts again', async () => {
      const host = await startHost();
      expect(await host.get(CarryOutErrands).runOnce()).toBe(0);
      await isUnchanged();
    });
  });
});
