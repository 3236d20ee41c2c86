import { fromPg, Timeouts, type Tx } from '../../libs/timeout/src/public';
import type { Client } from 'pg';
import {
  type ClosesOrders,
  CloseTarget,
  type OpenOrder,
  type PaidOrder,
  type TargetPayment,
} from '../../libs/orders/src/targets';

/** The statuses of a shop that was there before, as it has had them for years. */
export const [OPEN, PAID, EXPIRED] = [10, 20, 90];
export const KIND = 'order-close';

export const NUMBERED_TABLES = `
  CREATE SCHEMA IF NOT EXISTS public;
  CREATE TABLE public.orders (
    id serial PRIMARY KEY, state smallint NOT NULL DEFAULT ${OPEN}, reason text, paid_by text,
    closings int NOT NULL DEFAULT 0, payings int NOT NULL DEFAULT 0);
  CREATE TABLE public.payments (
    id serial PRIMARY KEY, order_id int NOT NULL, provider text NOT NULL, reference text UNIQUE NOT NULL,
    provider_id text, amount bigint NOT NULL, expires_at timestamptz NOT NULL)`;

/** Its orders, closed by lastcall: integers for ids, bigint for money, and no status for a fence. */
@CloseTarget({ kind: KIND, maxBatch: 200 })
export class NumberedOrders implements ClosesOrders {
  /** A bug, while it is set: orders that `close` passes over. */
  forgets: string | undefined;

  lockOpen(ids: readonly string[], tx: Tx): Promise<OpenOrder[]> {
    return tx.query(
      `WITH free AS (SELECT id FROM orders WHERE id = ANY ($1::int[]) AND state = ${OPEN}
                        FOR UPDATE SKIP LOCKED)
       SELECT id, id IN (SELECT id FROM free) AS locked FROM orders
        WHERE id = ANY ($1::int[]) AND state = ${OPEN}`,
      [ids],
    );
  }

  openPayments(ids: readonly string[], tx: Tx): Promise<TargetPayment[]> {
    return tx.query(`${PAYMENTS} WHERE order_id = ANY ($1::int[])`, [ids]);
  }

  findPayments(references: readonly string[], tx: Tx): Promise<TargetPayment[]> {
    return tx.query(`${PAYMENTS} WHERE reference = ANY ($1)`, [references]);
  }

  async close(ids: readonly string[], reason: string, tx: Tx): Promise<string[]> {
    const rows = await tx.query<{ id: string }>(
      `UPDATE orders SET state = ${EXPIRED}, reason = $2, closings = closings + 1
        WHERE id = ANY ($1::int[]) AND state = ${OPEN} AND id <> $3::int RETURNING id`,
      [ids, reason, this.forgets ?? 0],
    );
    return rows.map(({ id }) => id);
  }

  async markPaid(orders: readonly PaidOrder[], tx: Tx): Promise<string[]> {
    const rows = await tx.query<{ id: string }>(
      `UPDATE orders o SET state = ${PAID}, paid_by = p.reference, payings = payings + 1
         FROM unnest($1::int[], $2::text[]) AS p (id, reference)
        WHERE o.id = p.id AND state = ${OPEN} RETURNING o.id`,
      [orders.map(({ id }) => id), orders.map(({ paymentId }) => paymentId)],
    );
    return rows.map(({ id }) => id);
  }
}

const PAYMENTS = `SELECT reference AS "paymentId", provider_id AS "providerPaymentId", amount, 'EUR' AS currency,
  expires_at AS "expiresAt", order_id AS "orderId", provider FROM payments`;

/** What an order of that shop is by now. */
export interface NumberedOrder {
  readonly state: number;
  readonly reason: string | null;
  readonly paid_by: string | null;
  readonly closings: number;
  readonly payings: number;
}

/** Writes an order with its deadline, and its payments, in one transaction of the shop's own. */
export async function placeNumbered(
  client: Pick<Client, 'query'>,
  timeouts: Timeouts,
  { closesInMs, references = [] }: { closesInMs: number; references?: readonly string[] },
): Promise<string> {
  await client.query('BEGIN');
  const { rows } = await client.query<{ id: number; now_ms: number }>(
    'INSERT INTO public.orders DEFAULT VALUES RETURNING id, (extract(epoch FROM now()) * 1000)::float8 AS now_ms',
  );
  const [{ id, now_ms: nowMs }] = rows as [{ id: number; now_ms: number }];
  for (const reference of references) {
    await client.query(
      `INSERT INTO public.payments (order_id, provider, reference, amount, expires_at)
       VALUES ($1, 'acme', $2, 1999, now() + interval '1 hour')`,
      [id, reference],
    );
  }
  const dueAt = new Date(nowMs + closesInMs);
  await timeouts.arm(fromPg(client), { kind: KIND, subjectId: String(id), dueAt });
  await client.query('COMMIT');
  return String(id);
}
