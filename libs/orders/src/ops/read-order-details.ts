import type { Alarm, Deadline, HeldDeadline } from '@app/timeout';
import { type OrderEventView, readHistory } from '../events/read-history';
import { orderNotFound } from '../order/errors';
import type { OrderView } from '../order/order';
import { orderIdOf } from '../order/given-id';
import { type Queryable, readOrders } from '../order/order-rows';
import {
  inOrderOfTime,
  ofDeadline,
  ofHeld,
  ofHistory,
  readHappenings,
  type TimelineEntry,
} from './order-timeline';
import type { RefundEntry } from './refunds';
import { type WebhookEntry, webhooksOf } from './webhook-entry';

/** A refund beside its order. */
export type RefundDetails = Omit<RefundEntry, 'orderId' | 'updatedAt'>;

/** A payment that is still open, as its provider has given no answer when it was asked to end it. */
export interface UnansweredPayment {
  readonly paymentId: string;
  readonly provider: string;
  /** Why it has given none. */
  readonly error: string;
}

export interface DeadlineDetails {
  readonly kind: string;
  readonly dueAt: string;
  readonly version: number;
  readonly failures: number;
  /** `armed`: it will ring; `none`: a sweep takes it; `unknown`: the timer store did not answer. */
  readonly alarm: 'armed' | 'none' | 'unknown';
  readonly alarmAt: string | null;
}

export interface OrderDetailsView {
  readonly order: OrderView;
  /** `closedAt - closesAt`; null unless it was closed at or after its deadline by a timeout. */
  readonly lagMs: number | null;
  readonly history: readonly OrderEventView[];
  /** What it waits for where it is `closing`. */
  readonly unanswered: readonly UnansweredPayment[];
  readonly refunds: readonly RefundDetails[];
  readonly deadlines: readonly DeadlineDetails[];
  readonly held: readonly HeldDeadline[];
  /** What providers told of its payments, newest first. */
  readonly webhooks: readonly WebhookEntry[];
  /** All of the above and the movements of money in one list, oldest first; deadlines when due. */
  readonly timeline: readonly TimelineEntry[];
}

/** The newest of an order's webhooks that are shown. */
const MAX_WEBHOOKS = 100;

/** Finds a deadline's alarm in the timer store; rejects where the store does not answer. */
export type FindAlarm = (deadline: Deadline) => Promise<Alarm | undefined>;

/**
 * Everything there is to know of an order. Only looks: an overdue order stays as it is.
 * @throws {LastcallError} order_not_found
 */
export async function readOrderDetails(
  sql: Queryable,
  findAlarm: FindAlarm,
  given: string,
): Promise<OrderDetailsView> {
  const orderId = orderIdOf(given);
  const order = (await readOrders(sql, [orderId])).get(orderId);
  if (!order) throw orderNotFound();
  const paymentIds = order.payments.map(({ id }) => id);
  const [history, unanswered, refunds, deadlines, held, webhooks, happenings] = await Promise.all([
    readHistory(sql, [orderId]),
    readUnanswered(sql, orderId),
    readRefunds(sql, orderId),
    readDeadlines(sql, findAlarm, orderId),
    readHeld(sql, orderId),
    webhooksOf(sql, paymentIds, MAX_WEBHOOKS),
    readHappenings(sql, orderId),
  ]);
  const timeline = inOrderOfTime([
    ...ofHistory(history),
    ...happenings,
    ...deadlines.map(ofDeadline),
    ...held.map(ofHeld),
  ]);
  const lists = { history, unanswered, refunds, deadlines, held, webhooks, timeline };
  return { order, lagMs: lagOf(order), ...lists };
}

function readUnanswered(sql: Queryable, orderId: string): Promise<UnansweredPayment[]> {
  return sql.rows<UnansweredPayment>(
    `SELECT id AS "paymentId", provider, error FROM payments
      WHERE order_id = $1 AND status = 'open' AND error IS NOT NULL ORDER BY id`,
    [orderId],
  );
}

function readRefunds(sql: Queryable, orderId: string): Promise<RefundDetails[]> {
  return sql.rows<RefundDetails>(
    `SELECT r.id, r.payment_id AS "paymentId", r.status, r.reason, r.amount::int8::float8 AS amount,
            r.currency, r.attempt, r.error, r.created_at AS "createdAt",
            r.finished_at AS "finishedAt"
       FROM refunds r JOIN payments p ON p.id = r.payment_id
      WHERE p.order_id = $1 ORDER BY r.created_at, r.id`,
    [orderId],
  );
}

async function readDeadlines(
  sql: Queryable,
  findAlarm: FindAlarm,
  orderId: string,
): Promise<DeadlineDetails[]> {
  const rows = await sql.rows<{ kind: string; due_at: Date; version: number; failures: number }>(
    `SELECT kind, due_at, version, failures FROM deadlines WHERE subject_id = $1 ORDER BY due_at`,
    [orderId],
  );
  const details: DeadlineDetails[] = [];
  for (const { kind, due_at: dueAt, version, failures } of rows) {
    const deadline = { kind, subjectId: orderId, dueAt, version };
    // The timer store being away is something to tell, and no reason to tell nothing.
    const alarm = await findAlarm(deadline).catch((): 'unknown' => 'unknown');
    details.push({ kind, dueAt: dueAt.toISOString(), version, failures, ...alarmState(alarm) });
  }
  return details;
}

function readHeld(sql: Queryable, orderId: string): Promise<HeldDeadline[]> {
  return sql.rows<HeldDeadline>(
    `SELECT kind, subject_id AS "subjectId", due_at AS "dueAt", failures, error,
            held_at AS "heldAt"
       FROM held_deadlines WHERE subject_id = $1 ORDER BY held_at`,
    [orderId],
  );
}

function alarmState(
  alarm: Alarm | 'unknown' | undefined,
): Pick<DeadlineDetails, 'alarm' | 'alarmAt'> {
  if (alarm === 'unknown') return { alarm, alarmAt: null };
  return alarm
    ? { alarm: 'armed', alarmAt: alarm.at.toISOString() }
    : { alarm: 'none', alarmAt: null };
}

function lagOf({ closedAt, closesAt, closeReason }: OrderView): number | null {
  if (!closedAt || !closesAt || closeReason !== 'payment_timeout') return null;
  return Date.parse(closedAt) - Date.parse(closesAt);
}
