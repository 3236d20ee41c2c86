import { randomUUID } from 'node:crypto';
import { type OrderView, type PaymentView, type Queryable } from '@app/orders';
import { startSandbox } from '../../apps/sandbox/src/sandbox';
import { runInvariants } from '../../libs/orders/src/invariants/run-invariants';
import { startTestApp, type TestApp, token, WEBHOOK_SECRET } from './app';
import { insertProduct, TEST_SKU } from './insert-orders';
import { until } from './until';

/** A payment as the sandbox has it. */
export interface SandboxPayment {
  readonly id: string;
  readonly reference: string;
  readonly status: 'open' | 'paid' | 'closed' | 'failed';
  readonly capturedAmount: number;
  readonly refunds: readonly SandboxRefund[];
}

export interface SandboxRefund {
  readonly id: string;
  readonly amount: number;
  readonly status: 'pending' | 'succeeded' | 'failed';
  readonly idempotencyKey: string;
}

export interface SandboxEvent {
  readonly id: string;
  readonly type: string;
  readonly status: 'pending' | 'delivered' | 'dropped';
  readonly body: string;
}

/** Windows that are over when a test says so (`passDeadline`), and sweeps that soon notice. */
export const BY_HAND = {
  PAYMENT_WINDOW: '10m',
  PAYMENT_GRACE: '500ms',
  SWEEP_INTERVAL: '1s',
};

/** A shop and its payment provider, seen from outside: by HTTP, and by looking into the books. */
export class Shop {
  constructor(
    public apiUrl: string,
    readonly sandboxUrl: string,
    readonly sql: Queryable,
  ) {}

  async place(quantity = 1): Promise<OrderView> {
    await insertProduct(this.sql);
    const items = [{ sku: TEST_SKU, quantity }];
    return this.api('POST', '/v1/orders', { items }, { 'idempotency-key': randomUUID() });
  }

  startPayment(orderId: string): Promise<PaymentView> {
    return this.api('POST', `/v1/orders/${orderId}/payments`);
  }

  /**
   * A second payment beside one that is open: of another provider, or of a process that is not yet
   * replaced, which opens a new one each time it is asked.
   */
  async startAnotherPayment(orderId: string): Promise<PaymentView> {
    const set = (from: string, to: string): Promise<unknown> =>
      this.sql.rows(`UPDATE payments SET status = $3 WHERE order_id = $1 AND status = $2`, [
        orderId,
        from,
        to,
      ]);
    await set('open', 'failed');
    const payment = await this.startPayment(orderId);
    await set('failed', 'open');
    return payment;
  }

  /** An order with a payment open at the provider. */
  async placeWithPayment(): Promise<{ orderId: string; paymentId: string; providerId: string }> {
    const order = await this.place();
    const payment = await this.startPayment(order.id);
    return {
      orderId: order.id,
      paymentId: payment.id,
      providerId: payment.providerPaymentId as string,
    };
  }

  async api<Body>(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
    scope = 'orders',
  ): Promise<Body> {
    const bearer = await token({ scope });
    const answer = await call(this.apiUrl, method, path, body, {
      authorization: `Bearer ${bearer}`,
      ...headers,
    });
    if (answer.status >= 400) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body as Body;
  }

  async sandbox<Body>(method: string, path: string, body?: unknown): Promise<Body> {
    const answer = await call(this.sandboxUrl, method, path, body);
    if (answer.status >= 400) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body as Body;
  }

  buyerPays(providerId: string, how: object = {}): Promise<SandboxPayment> {
    return this.sandbox('POST', `/v1/payments/${providerId}/pay`, how);
  }

  faults(patch: object): Promise<unknown> {
    return this.sandbox('PUT', '/v1/faults', patch);
  }

  async ledger(): Promise<SandboxPayment[]> {
    return (await this.sandbox<{ payments: SandboxPayment[] }>('GET', '/v1/ledger')).payments;
  }

  async events(providerId: string, type: string): Promise<SandboxEvent[]> {
    const path = `/v1/webhooks?providerPaymentId=${providerId}&limit=1000`;
    const { items } = await this.sandbox<{ items: SandboxEvent[] }>('GET', path);
    return items.filter((event) => event.type === type);
  }

  untilDelivered(providerId: string, type: string): Promise<unknown> {
    return until(`${type} is delivered`, async () =>
      (await this.events(providerId, type)).some(({ status }) => status === 'delivered'),
    );
  }

  /**
   * Lets an order's time be over now, in our books, without waiting for it: the deadline, and what
   * a payment that was just opened would wait for. The next sweep finds it.
   */
  async passDeadline(orderIds: readonly string[]): Promise<void> {
    for (const sql of [
      'UPDATE orders SET pay_by = now(), closes_at = now() WHERE id = ANY ($1::uuid[])',
      `UPDATE payments SET expires_at = now(), created_at = created_at - interval '1 minute'
        WHERE order_id = ANY ($1::uuid[])`,
      `UPDATE deadlines SET due_at = now() WHERE kind = 'payment' AND subject_id = ANY ($1::uuid[])`,
    ]) {
      await this.sql.rows(sql, [orderIds]);
    }
  }

  /** An order that was closed with a payment that its buyer's bank may still pay. */
  async placeAndCancel(): Promise<{ orderId: string; paymentId: string; providerId: string }> {
    const payment = await this.placeWithPayment();
    await this.api('POST', `/v1/orders/${payment.orderId}/cancel`);
    await this.untilOrder(payment.orderId, 'closed', 60_000);
    return payment;
  }

  /** Our books: looking at the order through the API would close it. */
  async orderStatus(orderId: string): Promise<string | undefined> {
    const [row] = await this.sql.rows<{ status: string }>(
      'SELECT status FROM orders WHERE id = $1',
      [orderId],
    );
    return row?.status;
  }

  untilOrder(orderId: string, status: string, limitMs?: number): Promise<unknown> {
    const what = `order is ${status}`;
    return until(what, async () => (await this.orderStatus(orderId)) === status, limitMs);
  }

  async refundsOf(orderId: string): Promise<{ status: string; reason: string; attempt: number }[]> {
    return this.sql.rows(
      `SELECT r.status, r.reason, r.attempt FROM refunds r JOIN payments p ON p.id = r.payment_id
        WHERE p.order_id = $1 ORDER BY r.id`,
      [orderId],
    );
  }

  untilRefunded(orderId: string, limitMs?: number): Promise<unknown> {
    return until(
      'the refund has succeeded',
      async () => (await this.refundsOf(orderId)).some(({ status }) => status === 'succeeded'),
      limitMs,
    );
  }

  /** Waits until our books agree with the provider's ledger to the cent, and every promise holds. */
  async untilSound(): Promise<void> {
    // What stays where every look fails: then nothing is known to be sound.
    let found = ['nobody could look'];
    const isSound = async () => (found = await this.troubles()).length === 0;
    await until('sound', isSound).catch(() => undefined);
    expect(found).toEqual([]);
  }

  /** What does not agree with the provider's ledger to the cent, or breaks a promise. */
  async troubles(): Promise<string[]> {
    const rows = await this.sql.rows<{ id: string; captured: number; refunded: number }>(
      `SELECT p.id, coalesce(p.captured_amount, 0)::float8 AS captured,
              (SELECT coalesce(sum(r.amount), 0)::float8 FROM refunds r
                WHERE r.payment_id = p.id AND r.status = 'succeeded') AS refunded FROM payments p`,
    );
    const ours = new Map(rows.map((row) => [row.id, `${row.captured} - ${row.refunded}`]));
    const differing = (await this.ledger()).flatMap((payment) => {
      const back = payment.refunds.filter(({ status }) => status === 'succeeded');
      const refunded = back.reduce((sum, { amount }) => sum + amount, 0);
      const theirs = `${payment.capturedAmount} - ${refunded}`;
      const mine = ours.get(payment.reference) ?? 'nothing';
      return theirs === mine ? [] : [`payment ${payment.reference}: ${mine} is not ${theirs}`];
    });
    const invariants = await runInvariants(this.sql, { limitMs: 10_000, newest: 'all' });
    const broken = invariants.filter(({ violations }) => violations > 0);
    return [...differing, ...broken.map(({ id, promise }) => `${id}: ${promise}`)];
  }
}

export interface StartedShop extends Shop {
  readonly app: TestApp;
  close(): Promise<void>;
}

/** The application and the sandbox in this process, speaking real HTTP to each other. */
export async function startShop(settings: Record<string, string> = {}): Promise<StartedShop> {
  const sandbox = await startSandbox({
    port: 0,
    webhookUrl: 'http://127.0.0.1:9/not-yet',
    webhookSecret: WEBHOOK_SECRET,
    dataFolder: null,
  });
  const app = await startTestApp({
    settings: { ...BY_HAND, ...settings, SANDBOX_URL: sandbox.url },
  });
  const shop = new Shop(app.baseUrl, sandbox.url, app);
  await shop.sandbox('PUT', '/v1/webhooks/endpoint', {
    url: `${app.baseUrl}/v1/webhooks/sandbox`,
  });
  return Object.assign(shop, {
    app,
    close: async () => {
      await app.close();
      await sandbox.close();
    },
  });
}

async function call(
  baseUrl: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number; body: unknown }> {
  const response = await fetch(baseUrl + path, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text ? JSON.parse(text) : undefined };
}
