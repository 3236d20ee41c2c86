import type { OrderView, PaymentView } from '../order/order';
import { ISO, type Queryable } from '../order/order-rows';
import { REFUND_ENTRY, type RefundEntry } from './refunds';
import { type WebhookEntry, webhooksOf } from './webhook-entry';

/** Money that came, went or was held, and why: in a provider's words, or in an operator's. */
export interface ExportedMovement {
  readonly at: string;
  readonly paymentId: string;
  readonly kind: string;
  readonly amount: number;
  readonly currency: string;
  readonly reason: string | null;
}

/** What an operator did about an order, its payments, refunds or webhooks, and why; not which employee. */
export interface ExportedAction {
  readonly at: string;
  readonly action: string;
  readonly subjectKind: string;
  readonly subjectId: string;
  readonly reason: string;
}

/** A payment, and its provider's words about it: why it gave no answer, and why it opened nothing. */
export interface ExportedPayment extends PaymentView {
  readonly error: string | null;
  readonly failure: string | null;
}

/** What is kept of an order's money, and of what was done about it, beside what its customer is shown. */
export interface KeptOfOrder {
  readonly payments: readonly ExportedPayment[];
  /** All that were made of its payments, the earlier ones as well. */
  readonly refunds: readonly RefundEntry[];
  readonly movements: readonly ExportedMovement[];
  /** What its providers told of its payments, as long as it is kept. */
  readonly webhooks: readonly WebhookEntry[];
  readonly actions: readonly ExportedAction[];
}

/** What an order's words may be about; webhooks also by the provider's name for the payment, as `erase_from_history`. */
const SUBJECTS = `
  SELECT id AS order_id, id FROM orders WHERE id = ANY ($1::uuid[])
  UNION SELECT order_id, id FROM payments WHERE order_id = ANY ($1::uuid[])
  UNION SELECT p.order_id, r.id FROM payments p JOIN refunds r ON r.payment_id = p.id
         WHERE p.order_id = ANY ($1::uuid[])
  UNION SELECT p.order_id, w.id FROM payments p
          JOIN webhook_events w ON w.notice ->> 'paymentId' = p.id::text
         WHERE p.order_id = ANY ($1::uuid[])
  UNION SELECT p.order_id, w.id FROM operator_actions a JOIN webhook_events w ON w.id = a.subject_id
          JOIN payments p ON p.provider = w.provider
                         AND p.provider_payment_id = w.notice ->> 'providerPaymentId'
         WHERE a.subject_kind IN ('webhook', 'deadline') AND a.reason NOT LIKE 'erased:%'
           AND p.order_id = ANY ($1::uuid[])`;

const PAYMENTS = 'SELECT id, error, failure FROM payments WHERE order_id = ANY ($1::uuid[])';
const REFUNDS = `SELECT ${REFUND_ENTRY} FROM refunds r JOIN payments p ON p.id = r.payment_id
  WHERE p.order_id = ANY ($1::uuid[]) ORDER BY r.created_at, r.id`;
const MOVEMENTS = `SELECT order_id AS "orderId", ${ISO('at')} AS at, payment_id AS "paymentId", kind,
    amount::float8 AS amount, currency, reason
  FROM money_movements WHERE order_id = ANY ($1::uuid[]) ORDER BY money_movements.at, id`;
const ACTIONS = `SELECT s.order_id AS "orderId", ${ISO('a.at')} AS at, a.action,
    a.subject_kind AS "subjectKind", a.subject_id AS "subjectId", a.reason
  FROM (${SUBJECTS}) AS s JOIN operator_actions a ON a.subject_id = s.id ORDER BY a.id`;

type OfOrder<T> = T & { readonly orderId: string };

/** Reads it of these orders, and gives it of one of them. */
export async function readKeptOf(
  sql: Queryable,
  orders: readonly OrderView[],
): Promise<(order: OrderView) => KeptOfOrder> {
  const ids = [orders.map(({ id }) => id)];
  const words = await sql.rows<Pick<ExportedPayment, 'id' | 'error' | 'failure'>>(PAYMENTS, ids);
  const refunds = await sql.rows<RefundEntry>(REFUNDS, ids);
  const movements = await sql.rows<OfOrder<ExportedMovement>>(MOVEMENTS, ids);
  const webhooks = await webhooksOf(
    sql,
    words.map(({ id }) => id),
    null,
  );
  const actions = await sql.rows<OfOrder<ExportedAction>>(ACTIONS, ids);
  return ({ id, payments }) => ({
    payments: payments.map((payment) => {
      const { error = null, failure = null } = words.find((one) => one.id === payment.id) ?? {};
      return { ...payment, error, failure };
    }),
    refunds: refunds.filter(({ orderId }) => orderId === id),
    movements: movements.filter(isOf(id)).map(withoutOrder),
    webhooks: webhooks.filter(({ paymentId }) => payments.some((one) => one.id === paymentId)),
    actions: actions.filter(isOf(id)).map(withoutOrder),
  });
}

const isOf = (id: string) => (one: OfOrder<unknown>) => one.orderId === id;

function withoutOrder<T>({ orderId: _, ...rest }: OfOrder<T>): Omit<OfOrder<T>, 'orderId'> {
  return rest;
}
