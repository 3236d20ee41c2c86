import 'reflect-metadata';
import { runtimeToken } from '@app/timeout/module';
import type { DataSource } from 'typeorm';
import type { Posted } from '../../../../test/support/ledger-provider';
import { EXPIRED, KIND, PAID } from '../../../../test/support/numbered-shop';
import { type NumberedShop, openNumberedShop } from '../../../../test/support/open-numbered-shop';
import { Plans } from '../../../../test/support/plans';
import { until } from '../../../../test/support/until';
import { fromPg } from '../../../timeout/src/public';
import { TargetRetention } from './target-retention';

/** Hundreds are closed, asked about and refunded here, on a machine that does other things as well. */
const WITHIN_MS = 120_000;
jest.setTimeout(3 * WITHIN_MS);

/** A statement that is run so often by a connection keeps its plan. */
const UNTIL_KEPT = 8;
const ORDERS = 600;
/** What a statement may read and throw away for each order; as in cold-plans.long.ts. */
const MOST_IN_VAIN = 6;
const LONG_MS = 3_600_000;
/**
 * How often is looked for what is due goes by the time that a machine takes; what is gone stays in the
 * index until somebody vacuums, and nobody does here. So these are judged by rows alone.
 */
const IS_A_LOOK = /\bFROM near_deadlines\b/;
/** What the shop's own statements read is the shop's. */
const IS_THE_SHOPS = /\b(FROM|UPDATE|INTO) (public\.)?(orders|payments)\b/;

/** The first hour of a shop with close targets: plans from when the tables were small, or empty. */
describe.each([
  { mode: 'force_generic_plan', what: 'empty', rows: 0 },
  { mode: 'auto', what: 'small', rows: 200 },
] as const)('plans of close targets ($mode) made while the tables were $what', ({ mode, rows }) => {
  let shop: NumberedShop;
  let plans: Plans;
  beforeAll(async () => {
    shop = await openNumberedShop();
    await shop.client.query('CREATE INDEX ON public.payments (order_id)');
    const runtime = shop.module.get<{ readonly pools: readonly DataSource[] }>(
      runtimeToken('default'),
    );
    plans = await Plans.ofAll(
      {
        ownerUrl: shop.databaseUrl,
        dataSources: runtime.pools,
        sessions: `application_name LIKE 'lastcall %'`,
      },
      mode,
    );
    const { rows: tables } = await shop.client.query<{ name: string }>(
      `SELECT oid::regclass::text AS name FROM pg_class
        WHERE relkind = 'r' AND relnamespace IN ('lastcall'::regnamespace, 'public'::regnamespace)`,
    );
    for (const { name } of tables) {
      await shop.client.query(`ALTER TABLE ${name} SET (autovacuum_enabled = false)`);
    }
    if (rows > 0) await doAll(rows);
    await shop.client.query('ANALYZE');
    for (let round = 0; round < UNTIL_KEPT; round++) await doAll(2);
    plans.forget();
  });
  afterAll(() => shop?.close());

  async function doAll(count: number): Promise<void> {
    await close(count);
    await pay(count);
    await refund(await closeOpen(count));
    await shop.targets.waiting();
  }

  /** With a payment each, by its order's id. */
  async function place(count: number, closesInMs: number, hasPayment: boolean): Promise<string[]> {
    const { rows: orders } = await shop.client.query<{ id: number }>(
      `INSERT INTO public.orders (state) SELECT 10 FROM generate_series(1, $1) RETURNING id`,
      [count],
    );
    const ids = orders.map(({ id }) => String(id));
    if (hasPayment) {
      await shop.client.query(
        `INSERT INTO public.payments (order_id, provider, reference, amount, expires_at)
         SELECT id, 'acme', id::text, 1999, now() + interval '1 hour' FROM unnest($1::int[]) AS o (id)`,
        [ids],
      );
      for (const paymentId of ids) shop.acme.open({ paymentId, amount: 1_999, currency: 'EUR' });
    }
    const dueAt = new Date(Date.now() + closesInMs);
    const due = ids.map((subjectId) => ({ kind: KIND, subjectId, dueAt }));
    await shop.timeouts.arm(fromPg(shop.client), due);
    return ids;
  }

  const untilAll = (ids: readonly string[], state: number): Promise<unknown> => {
    const areThere = async (): Promise<boolean> => {
      const left = await shop.first(
        'SELECT 1 FROM orders WHERE id = ANY ($1::int[]) AND state <> $2 LIMIT 1',
        [ids, state],
      );
      return left === undefined;
    };
    return until(`all are ${state}`, areThere, WITHIN_MS);
  };

  async function close(count: number): Promise<void> {
    await untilAll(await place(count, 0, false), EXPIRED);
  }

  /** Each behind the fence, once its provider has ended its payment. */
  async function closeOpen(count: number): Promise<string[]> {
    const ids = await place(count, 0, true);
    await untilAll(ids, EXPIRED);
    return ids;
  }

  const receiveAll = (ids: readonly string[], late: boolean): Promise<unknown> =>
    Promise.all(ids.map((id) => shop.receive(shop.acme.pay(id, new Date(), { late }) as Posted)));

  async function pay(count: number): Promise<void> {
    const ids = await place(count, LONG_MS, true);
    await receiveAll(ids, false);
    await untilAll(ids, PAID);
  }

  /** They are paid after they were closed. */
  async function refund(ids: readonly string[]): Promise<void> {
    await receiveAll(ids, true);
    const isGivenBack = async (): Promise<boolean> => {
      const done = await shop.first(
        `SELECT count(*) AS n FROM lastcall.target_refunds
          WHERE payment_id = ANY ($1) AND status = 'succeeded'`,
        [ids],
      );
      return Number(done?.n) === ids.length;
    };
    await until('all is given back', isGivenBack, WITHIN_MS);
  }

  const tooMuch = (most = MOST_IN_VAIN) =>
    plans
      .waste()
      .filter(({ statement }) => !IS_THE_SHOPS.test(statement))
      .filter(
        ({ statement, inVain, blocksInVain, arraysInLoops }) =>
          inVain > most * ORDERS ||
          (blocksInVain > most * ORDERS && !IS_A_LOOK.test(statement)) ||
          arraysInLoops > ORDERS / 100,
      );

  it('close hundreds without reading in vain', async () => {
    await close(ORDERS);
    expect(tooMuch()).toEqual([]);
  });

  it('pay hundreds without reading in vain', async () => {
    await pay(ORDERS);
    expect(tooMuch()).toEqual([]);
  });

  it('close hundreds behind the fence, and refund them, without reading in vain', async () => {
    const ids = await closeOpen(ORDERS);
    // On a slow machine each is asked about more than once, and so is its refund.
    expect(tooMuch(3 * MOST_IN_VAIN)).toEqual([]);
    await refund(ids);
    expect(tooMuch(3 * MOST_IN_VAIN)).toEqual([]);
  });

  it('list what waits without reading what does not', async () => {
    await shop.client.query(
      `INSERT INTO lastcall.target_orders (kind, order_id, status, reason, attempts)
       SELECT $1, 'over-' || n, 'paid', 'captured', 1 FROM generate_series(1, 20 * $2::int) AS n`,
      [KIND, ORDERS],
    );
    await place(ORDERS, LONG_MS, false);
    plans.forget();
    await shop.targets.waiting();
    // Not by blocks: what is over stays in an index until somebody vacuums.
    expect(plans.waste().filter(({ inVain }) => inVain > ORDERS)).toEqual([]);
  });
  it('forget webhooks of a week ago without reading those that are kept', async () => {
    await shop.client.query(
      `INSERT INTO lastcall.target_webhooks (id, provider, event_id, notice, status, result, received_at)
       SELECT gen_random_uuid(), 'acme', concat(n, status, result, days), '{}', status, result, now() - days * interval '1 day'
         FROM generate_series(1, $1::int) AS n, (VALUES ('processed', 'paid', 8), ('processed', 'paid', 6),
           ('processed', 'dismissed', 8), ('held', 'unknown_reference', 8)) AS s (status, result, days)`,
      [ORDERS],
    );
    plans.forget();
    await shop.module.get(TargetRetention).runOnce();
    expect(tooMuch()).toEqual([]);
  });
});
