import { randomUUID } from 'node:crypto';
import type { StartedShop } from '../support/shop';

/** A subject of an action: its id, and where in the console it is found. */
export interface Subject {
  readonly id: string;
  readonly place: string;
}
export const anOrder = (id: string): Subject => ({ id, place: `order/${id}` });
const aWait = (id: string, wait: string): Subject => ({ id, place: `work?wait=${wait}` });

/** What there is to act on in the console of a shop: each call makes one more. */
export function consoleSubjects(shop: () => StartedShop) {
  const sql = (text: string, ...params: unknown[]) => shop().app.rows<{ id: string }>(text, params);

  async function unpaid(): Promise<Subject> {
    return anOrder((await shop().place()).id);
  }

  async function paid(): Promise<{ orderId: string; paymentId: string }> {
    const { orderId, paymentId, providerId } = await shop().placeWithPayment();
    await shop().buyerPays(providerId);
    await shop().untilOrder(orderId, 'paid');
    return { orderId, paymentId };
  }

  /** Waits for a provider that is not asked while the test lasts. */
  async function closing(): Promise<Subject> {
    const { orderId } = await shop().placeWithPayment();
    await sql(
      `WITH fenced AS (
         UPDATE orders SET status = 'closing', close_reason = 'operator_closed', version = version + 1
          WHERE id = $1 RETURNING id, version),
       told AS (
         INSERT INTO order_events (order_id, version, type, from_status, to_status, by)
         SELECT id, version, 'order.closing', 'pending_payment', 'closing', 'timer' FROM fenced)
       INSERT INTO deadlines (kind, due_at, subject_id, version)
       SELECT 'closing', now() + interval '1 hour', id, version FROM fenced`,
      orderId,
    );
    return anOrder(orderId);
  }

  async function moneyOnHold(): Promise<Subject> {
    const { paymentId, providerId } = await shop().placeAndCancel();
    await shop().buyerPays(providerId, { afterClose: true });
    await shop().untilDelivered(providerId, 'payment.succeeded');
    return aWait(paymentId, 'payment_on_hold');
  }

  /** An operator has said how much it was, and its provider tells of less. */
  async function changedMoney(): Promise<Subject> {
    const { orderId, paymentId } = await paid();
    await sql(
      `WITH told AS (
         INSERT INTO money_movements (order_id, payment_id, kind, ref, amount, currency, source)
         SELECT $1, id, kind, 'told since', CASE kind WHEN 'held' THEN captured_amount ELSE 100 END,
                captured_currency, 'webhook'
           FROM payments, unnest('{held,mismatch}'::text[]) AS kind WHERE id = $2)
       UPDATE payments SET hold_reason = 'capture_changed' WHERE id = $2`,
      orderId,
      paymentId,
    );
    return aWait(paymentId, 'payment_on_hold');
  }

  async function heldWebhook(): Promise<Subject> {
    const id = randomUUID();
    await sql(
      `INSERT INTO webhook_events (id, provider, event_id, notice, status, result)
       VALUES ($1::uuid, 'sandbox', $1::uuid::text, '{"type": "payment.succeeded", "paymentId": "nobody"}', 'held',
               'unknown reference')`,
      id,
    );
    return aWait(id, 'webhook_held');
  }

  async function heldDeadline(): Promise<Subject> {
    const { id } = await shop().place();
    await sql(
      `INSERT INTO held_deadlines (kind, subject_id, due_at, version, failures, error)
       VALUES ('payment', $1, now(), 1, 5, 'it throws')`,
      id,
    );
    return aWait(id, 'deadline_held');
  }

  async function refundInAttention(): Promise<Subject> {
    const { paymentId } = await paid();
    const id = randomUUID();
    await sql(
      `INSERT INTO refunds (id, payment_id, reason, amount, currency, status, error)
       SELECT $1, id, 'operator', amount, currency, 'needs_attention', 'refused' FROM payments WHERE id = $2`,
      id,
      paymentId,
    );
    return aWait(id, 'refund_in_attention');
  }

  /** It hears of nothing, and may not be reached: what is sent again goes nowhere. */
  async function endpoint(): Promise<string> {
    const [row] = await sql(
      `INSERT INTO webhook_endpoints (id, url, events, secret, from_tx)
       VALUES (gen_random_uuid(), 'http://127.0.0.1:9/', '{*}', 'whsec_YS13ZWJob29rLXNlY3JldC1mb3ItdGVzdHM=',
               '9223372036854775807') RETURNING id`,
    );
    return (row as { id: string }).id;
  }

  async function endpointOff(): Promise<Subject> {
    const id = await endpoint();
    await sql(
      `UPDATE webhook_endpoints SET status = 'off', status_reason = 'it answered 410 Gone' WHERE id = $1`,
      id,
    );
    return aWait(id, 'webhook_endpoint_off');
  }

  async function deadDelivery(): Promise<Subject> {
    const [id, order] = [await endpoint(), await shop().place()];
    await sql(
      `INSERT INTO webhook_deliveries (endpoint_id, order_id, version, type, retry_until, status, settled_at)
       VALUES ($1, $2, 1, 'order.placed', now(), 'dead', now())`,
      id,
      order.id,
    );
    return aWait(id, 'delivery_dead');
  }

  async function brake(): Promise<Subject> {
    const [row] = await sql(
      `INSERT INTO timeout_brakes (cause, kind, due, waiting)
       VALUES ('blast radius', 'payment', 9, 10) RETURNING id`,
    );
    return { id: (row as { id: string }).id, place: 'now' };
  }

  return {
    sql,
    unpaid,
    paid,
    closing,
    moneyOnHold,
    changedMoney,
    heldWebhook,
    heldDeadline,
    refundInAttention,
    endpointOff,
    deadDelivery,
    brake,
  };
}
