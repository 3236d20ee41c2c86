import { LastcallError } from '@app/orders';
import { isContention } from '@app/timeout';
import type { Client } from 'pg';
import { StoodStillError } from '../../../libs/timeout/src/database/others-errors';
import { UnansweredError } from '../../../libs/timeout/src/draining/handle-claimed';
import { disputedOf, type LedgerEntry, refundedOf } from '../../support/ledger-entry';
import { EXPIRED, type NumberedOrder, OPEN, PAID } from '../../support/numbered-shop';
import type { TargetOutside } from './target-outside';
import type { TargetShop } from './target-shop';

interface Capture {
  readonly payment: string;
  readonly order: string;
  readonly amount: number;
  readonly verdict: 'pay' | 'refund' | 'hold' | 'keep';
  readonly settled_by: string | null;
}

interface RefundRow {
  readonly id: string;
  readonly payment: string;
  readonly order: string;
  readonly status: string;
  readonly amount: number;
  readonly made: readonly { readonly hasFailed: boolean }[];
}

type Order = NumberedOrder & { readonly id: string; readonly ours: string | null };

/** What is written down in the end. */
interface Books {
  readonly orders: readonly Order[];
  readonly captures: readonly Capture[];
  readonly refunds: readonly RefundRow[];
}

/** Whether nothing is left to do, and nobody waits for an operator. */
export async function isTargetQuiet(monitor: Client): Promise<boolean> {
  const { rows } = await monitor.query<{ n: string }>(
    `SELECT (SELECT count(*) FROM public.orders WHERE state = ${OPEN})
          + (SELECT count(*) FROM target_refunds WHERE status <> 'succeeded' OR made_twice_at IS NOT NULL)
          + (SELECT count(*) FROM target_webhooks WHERE status <> 'processed')
          + (SELECT count(*) FROM target_payments WHERE verdict = 'hold')
          + (SELECT count(*) FROM timeout_subjects) AS n`,
  );
  return Number(rows[0]?.n) === 0;
}

/** Everything that is wrong in the end, in words. */
export async function findTargetFaults(
  monitor: Client,
  shops: readonly TargetShop[],
  outside: TargetOutside,
): Promise<string[]> {
  const books = await readBooks(monitor);
  const stored = await monitor.query<{ event_id: string }>('SELECT event_id FROM target_webhooks');
  const events = new Set(stored.rows.map((row) => row.event_id));
  return [
    ...outside.unexpected.map((error) => `unexpected: ${String(error)}`),
    ...shops.flatMap(unexpectedReports),
    ...[...outside.acknowledged]
      .map(({ headers }) => headers['webhook-id'] as string)
      .filter((id) => !events.has(id))
      .map((id) => `webhook ${id} was acknowledged and is not stored`),
    ...books.orders.flatMap((order) => orderFaults(order, books, outside)),
    ...outside.entries.flatMap((entry) => moneyFaults(entry, books)),
    ...books.refunds.flatMap((refund) => refundFaults(refund, outside)),
  ];
}

async function readBooks(monitor: Client): Promise<Books> {
  const orders = await monitor.query<Order>(
    `SELECT o.*, o.id::text AS id, t.status AS ours
       FROM public.orders o LEFT JOIN target_orders t ON t.order_id = o.id::text`,
  );
  const captures = await monitor.query<Capture>(
    `SELECT payment_id AS payment, order_id AS order, amount::int AS amount, verdict, settled_by
       FROM target_payments WHERE status = 'captured'`,
  );
  const refunds = await monitor.query<RefundRow>(
    `SELECT id, payment_id AS payment, order_id AS order, status, amount::int AS amount, made FROM target_refunds`,
  );
  return { orders: orders.rows, captures: captures.rows, refunds: refunds.rows };
}

function orderFaults(order: Order, { captures }: Books, outside: TargetOutside): string[] {
  const { id, state, ours, paid_by: paidBy, closings, payings } = order;
  const entries = outside.entriesOf(id);
  const answers = outside.answers.filter(({ orderId }) => orderId === id);
  const payer = captures.find(({ payment, verdict }) => payment === paidBy && verdict === 'pay');
  const faults: string[] = [];
  if (closings + payings > 1) faults.push(`closed ${closings} times and paid ${payings} times`);
  if (state === OPEN) faults.push('is open for good');
  if (ours === 'closing') faults.push('is behind the fence for good');
  if (state === EXPIRED && ours !== 'closed') faults.push(`was closed, and is ${ours} to us`);
  if (state === PAID && (ours !== 'paid' || !payer))
    faults.push(`was paid by ${paidBy}, which nobody knows of`);
  if (state === EXPIRED || state === PAID) {
    for (const entry of entries.filter(({ status }) => status === 'open')) {
      faults.push(`is over, and ${entry.reference} could still be paid`);
    }
  }
  if (state === EXPIRED && !outside.told.has(id)) {
    for (const entry of entries.filter((one) => wasPaidInTime(one, outside))) {
      faults.push(`was closed though ${entry.reference} was paid before it was ended`);
    }
  }
  if (state !== EXPIRED && answers.some(({ answer }) => answer === 'closed')) {
    faults.push(`was answered as closed and is ${state}`);
  }
  return faults.map((fault) => `order ${id} ${fault}`);
}

/** Nobody has ended it before, and all of its money was there until we heard of it. */
function wasPaidInTime(entry: LedgerEntry, { late }: TargetOutside): boolean {
  const isTouched = entry.disputes.length > 0 || entry.refunds.some(({ key }) => key === null);
  const isWhole = entry.status === 'paid' && entry.money?.amount === entry.amount;
  return isWhole && !isTouched && !late.has(entry.reference);
}

/** Each capture has paid its order, or has gone back, or somebody keeps it; never two of these. */
function moneyFaults(entry: LedgerEntry, { orders, captures, refunds }: Books): string[] {
  const { reference, money } = entry;
  if (entry.status !== 'paid' || !money) return [];
  const [capture, ...others] = captures.filter(({ payment }) => payment === reference);
  const order = orders.find(({ id }) => id === capture?.order);
  if (!capture || !order)
    return isGone(entry) ? [] : [`${reference}: its money is nowhere in the books`];
  const refund = refunds.find(({ payment }) => payment === reference);
  const sent = entry.refunds.filter(({ key }) => key !== null);
  const faults: string[] = [];
  if (others.length > 0) faults.push('is in the books twice');
  if (capture.amount !== money.amount) faults.push(`is ${capture.amount} in the books`);
  if (capture.verdict === 'pay' && order.paid_by !== reference) faults.push('has paid nothing');
  if (capture.verdict === 'refund' && !refund) faults.push('is to go back, and nobody sends it');
  if (capture.verdict !== 'refund' && (refund || sent.length > 0)) faults.push('went back unasked');
  if (capture.verdict === 'refund' && !capture.settled_by && order.ours === null) {
    faults.push('went back for an order that we have not ended');
  }
  return faults.map((fault) => `${reference}: ${fault}`);
}

/** What was taken away at the provider before we heard of it is nobody's to book. */
const isGone = (entry: LedgerEntry): boolean =>
  entry.disputes.length > 0 || refundedOf(entry) >= (entry.money?.amount ?? 0);

function refundFaults({ id, payment, amount, made }: RefundRow, outside: TargetOutside): string[] {
  const entry = outside.entry(payment);
  if (!entry) return [`refund ${id} is of money that nobody has taken`];
  const standing = entry.refunds.filter(({ key, state }) => key !== null && state !== 'FAILED');
  const back = refundedOf(entry) + disputedOf(entry) + (outside.byHand.has(id) ? amount : 0);
  const times = standing.length + (outside.byHand.has(id) ? 1 : 0);
  const known = made.filter(({ hasFailed }) => !hasFailed).length;
  const faults: string[] = [];
  if (back < amount) faults.push(`is over, and ${back} of ${amount} went back`);
  if (standing.some((one) => one.amount !== amount)) faults.push('went back in another amount');
  if (times > 1 && known < times)
    faults.push(`went back ${times} times, of which ${known} are known`);
  if (standing.length > 1) faults.push('was made twice by its provider');
  return faults.map((fault) => `refund ${id} ${fault}`);
}

/** Somebody has a row, or the schedule has let the time of whoever works pass: nothing was done. */
export function isTryAgain(error: unknown): boolean {
  return (
    isContention(error) || error instanceof UnansweredError || error instanceof StoodStillError
  );
}

/** What is reported as failed: what is tried again, or what a provider that is away refuses, is an outcome; a bug is not. */
function unexpectedReports({ told }: TargetShop): string[] {
  return told.flatMap(({ name, args }) => {
    if (name === 'alert') return [];
    const error = args.at(-1);
    const isOutcome = error instanceof LastcallError || isTryAgain(error);
    return isOutcome ? [] : [`${name} ${String(args[0])}: ${String(error)}`];
  });
}
