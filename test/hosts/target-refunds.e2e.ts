import 'reflect-metadata';
import { Test, type TestingModule } from '@nestjs/testing';
import { Pool, type PoolClient } from 'pg';
import { refundKey } from '../../libs/orders/src/money/settle-refunds';
import { CloseTargetModule, CloseTargets } from '../../libs/orders/src/targets';
import { getTimeoutsToken, TimeoutModule, type Timeouts } from '../../libs/timeout/src/public';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { LedgerProvider, post } from '../support/ledger-provider';
import { EXPIRED, NUMBERED_TABLES, NumberedOrders, placeNumbered } from '../support/numbered-shop';
import { silentOrdersTelemetry } from '../support/silent-telemetry';
import { until } from '../support/until';

const REFERENCE = 'p-1';

describe('a refund of a close target', () => {
  const acme = new LedgerProvider('acme');
  let database: TestDatabase;
  let pool: Pool;
  let client: PoolClient;
  let shop: TestingModule;

  beforeAll(async () => {
    database = await createTestDatabase();
    pool = new Pool({ connectionString: database.url, options: '-c search_path=public' });
    client = await pool.connect();
    await client.query(NUMBERED_TABLES);
    shop = await Test.createTestingModule({
      imports: [
        TimeoutModule.forRoot({ postgres: { pool }, driver: 'memory', sweepIntervalMs: 1_000 }),
        CloseTargetModule.forRoot({
          targets: [NumberedOrders],
          payments: [acme],
          telemetry: silentOrdersTelemetry,
        }),
      ],
    }).compile();
    shop.useLogger(false);
    await shop.init();
  });
  afterAll(async () => {
    client?.release();
    await shop?.close();
    await pool?.end();
    await database?.drop();
  });

  const only = async (sql: string) => (await client.query<Record<string, string>>(sql)).rows[0];
  const refund = () => only('SELECT * FROM lastcall.target_refunds');

  /** Closed, and then paid; nobody answers what we ask the provider. */
  async function paidTooLate(): Promise<string> {
    const timeouts = shop.get<Timeouts>(getTimeoutsToken());
    await placeNumbered(client, timeouts, { closesInMs: 0, references: [REFERENCE] });
    acme.open({ paymentId: REFERENCE, amount: 1_999, currency: 'EUR' });
    await until('it is closed', async () => {
      return Number((await only('SELECT state FROM orders'))?.state) === EXPIRED;
    });
    acme.unreachable = 'before';
    const late = acme.pay(REFERENCE, new Date(), { late: true });
    await receive(late as ReturnType<typeof post>);
    await until('it is to go back', refund);
    return (await refund())?.id as string;
  }

  const receive = ({ body, headers }: ReturnType<typeof post>) =>
    shop.get(CloseTargets).receive('acme', body, headers);

  it('that failed in two attempts is not done by old stories of both', async () => {
    const id = await paidTooLate();
    const tell = async (type: string, attempt: number, providerRefundId: string) => {
      const eventId = `${type}-${attempt}`;
      const idempotencyKey = refundKey(id, attempt);
      const about = { paymentId: REFERENCE, providerPaymentId: `pay-${REFERENCE}`, amount: 1_999 };
      await receive(post({ eventId, type, ...about, why: 'x', providerRefundId, idempotencyKey }));
      await until(`${eventId} is applied`, async () => {
        const sql = `SELECT status FROM lastcall.target_webhooks WHERE event_id = '${eventId}'`;
        return (await only(sql))?.status !== 'received';
      });
    };
    await tell('refund.failed', 1, 're-1');
    await until('it is tried anew', async () => Number((await refund())?.attempt) === 2);
    await tell('refund.failed', 2, 're-2');
    await tell('refund.succeeded', 1, 're-1');
    await tell('refund.succeeded', 2, 're-2');
    expect(await refund()).toMatchObject({ status: 'needs_attention' });
  });
});
