import type { OrderDetailsView, OrderView } from '@app/orders';
import { instantText } from './instant';
import { dueText } from './order-text';
import { paint } from './paint';
import { statusText } from './status';
import { type Column, facts, table } from './table';
import { durationText, moneyText } from './wording';

/** Everything that is known of an order, a section each. */
export function orderDetailsText(details: OrderDetailsView): string {
  const { order, timeline, unanswered, refunds, deadlines, held } = details;
  return [
    section('Order', orderFacts(details)),
    section('Lines', linesText(order)),
    section('Timeline', timelineText(timeline)),
    section('Payments', paymentsText(order.payments, unanswered)),
    section('Refunds', refundsText(refunds)),
    section('Deadlines', deadlinesText(deadlines)),
    ...(held.length > 0 ? [section('Held deadlines', heldText(held))] : []),
  ].join('\n\n');
}

const section = (title: string, text: string): string => `${paint.heading(title)}\n${text}`;

const tableOrNone = <Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string =>
  rows.length === 0 ? 'none' : table(rows, columns);

function orderFacts({ order, lagMs }: OrderDetailsView): string {
  return facts([
    ['id', order.id],
    ['customer', order.customerId],
    ['status', statusText(order.status)],
    ['close reason', order.closeReason],
    ['amount', moneyText(order.amount, order.currency)],
    ['balance', balanceText(order)],
    ['placed', instantText(order.createdAt)],
    ['pay by', instantText(order.payBy)],
    ['closes at', instantText(order.closesAt)],
    ['deadline', dueText(order)],
    ['paid', instantText(order.paidAt)],
    ['closed', instantText(order.closedAt)],
    ['closed late by', lagMs === null ? null : durationText(lagMs)],
    ['canceled', instantText(order.canceledAt)],
    ['shipped', instantText(order.shippedAt)],
    ['completed', instantText(order.completedAt)],
  ]);
}

/** What the payments hold; null while no money has moved. */
function balanceText({ balance, currency }: OrderView): string | null {
  if (balance.captured === 0) return null;
  const parts = (['captured', 'refunded', 'disputed', 'held'] as const).filter(
    (part) => part === 'captured' || balance[part] !== 0,
  );
  return parts.map((part) => `${part} ${moneyText(balance[part], currency)}`).join(', ');
}

function linesText({ items, currency }: OrderView): string {
  return table(items, [
    { title: 'SKU', value: ({ sku }) => sku },
    { title: 'QUANTITY', value: ({ quantity }) => quantity, align: 'right' },
    { title: 'RETURNED', value: ({ returned }) => returned ?? null, align: 'right' },
    {
      title: 'UNIT PRICE',
      value: ({ unitPrice }) => moneyText(unitPrice, currency),
      align: 'right',
    },
  ]);
}

/** All that happened to the order, its payments, webhooks and refunds, and what is due next. */
function timelineText(timeline: OrderDetailsView['timeline']): string {
  return table(timeline, [
    { title: 'AT', value: ({ at }) => instantText(at) },
    { title: 'WHAT', value: ({ what }) => what },
    { title: 'BY', value: ({ by, actor }) => (actor ? `${by} (${actor})` : by) },
    { title: 'WHY', value: ({ reason }) => reason },
    {
      title: 'AMOUNT',
      value: ({ amount, currency }) =>
        amount === null || currency === null ? null : moneyText(amount, currency),
      align: 'right',
    },
    { title: 'ABOUT', value: ({ subjectId }) => subjectId },
  ]);
}

/** An amount in its own currency, of a payment or of a refund. */
const AMOUNT: Column<{ readonly amount: number; readonly currency: string }> = {
  title: 'AMOUNT',
  value: ({ amount, currency }) => moneyText(amount, currency),
  align: 'right',
};

function paymentsText(
  payments: OrderView['payments'],
  unanswered: OrderDetailsView['unanswered'],
): string {
  const errors = new Map(unanswered.map(({ paymentId, error }) => [paymentId, error]));
  return tableOrNone(payments, [
    { title: 'ID', value: ({ id }) => id },
    { title: 'STATUS', value: ({ status }) => statusText(status) },
    AMOUNT,
    { title: 'PAID AT', value: ({ paidAt }) => instantText(paidAt) },
    {
      title: 'AT THE PROVIDER',
      value: ({ provider, providerPaymentId }) => `${provider} ${providerPaymentId ?? '?'}`,
    },
    { title: 'ON HOLD', value: ({ holdReason }) => holdReason },
    { title: 'ERROR', value: ({ id }) => errors.get(id) ?? null },
  ]);
}

function refundsText(refunds: OrderDetailsView['refunds']): string {
  return tableOrNone(refunds, [
    { title: 'ID', value: ({ id }) => id },
    { title: 'STATUS', value: ({ status }) => statusText(status) },
    AMOUNT,
    { title: 'WHY', value: ({ reason }) => reason },
    { title: 'ATTEMPT', value: ({ attempt }) => attempt, align: 'right' },
    { title: 'ERROR', value: ({ error }) => error },
  ]);
}

function deadlinesText(deadlines: OrderDetailsView['deadlines']): string {
  return tableOrNone(deadlines, [
    { title: 'KIND', value: ({ kind }) => kind },
    { title: 'DUE AT', value: ({ dueAt }) => instantText(dueAt) },
    { title: 'FAILURES', value: ({ failures }) => failures, align: 'right' },
    { title: 'ALARM', value: ({ alarm, alarmAt }) => (alarmAt ? `rings at ${alarmAt}` : alarm) },
  ]);
}

function heldText(held: OrderDetailsView['held']): string {
  return table(held, [
    { title: 'KIND', value: ({ kind }) => kind },
    { title: 'FAILURES', value: ({ failures }) => failures, align: 'right' },
    { title: 'ERROR', value: ({ error }) => error },
  ]);
}
