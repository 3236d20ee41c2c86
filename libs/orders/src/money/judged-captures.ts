import type { Transaction } from '@app/timeout';
import type { PaymentStatus } from '../order/order';
import type { OrderStatus } from '../order/order.lifecycle';
import type { CapturedMoney } from '../providers/payment-provider';
import { type CaptureJudgement, judgeCapture } from './capture.judgement';

/** Money a provider says it took, by webhook or by answer. */
export interface Capture {
  readonly paymentId: string;
  readonly providerPaymentId: string;
  readonly money: CapturedMoney;
}

export interface CaptureRow {
  payment_id: string;
  provider: string;
  payment_status: PaymentStatus;
  provider_payment_id: string | null;
  captured_amount: string | null;
  captured_currency: string | null;
  hold_reason: string | null;
  amount: string;
  currency: string;
  order_id: string;
  status: OrderStatus;
  /** Null of an order that is not closed. */
  close_reason: string | null;
  /** Null of an order that is not closed. */
  closes_at: Date | null;
  late_payment: 'refund' | 'revive' | 'hold';
}

/** A capture, what we know of its payment and order, and what is to become of it. */
export interface Judged {
  readonly capture: Capture;
  readonly row: CaptureRow;
  readonly judgement: CaptureJudgement;
}

/**
 * Locks the rows of payments and their orders, and reads them as they are then. Where somebody holds one it
 * is `busy`: the money of the others does not wait for it.
 */
export async function lockRows(
  tx: Transaction,
  captures: readonly Capture[],
): Promise<Map<Capture, CaptureRow | 'busy'>> {
  const rows = await tx.hot<CaptureRow>(LOCKED, [captures.map(({ paymentId }) => paymentId)]);
  const byId = new Map(rows.map((row) => [row.payment_id, row]));
  const held = await findHeld(tx, captures, byId);
  const found = new Map<Capture, CaptureRow | 'busy'>();
  for (const capture of captures) {
    const row = byId.get(capture.paymentId);
    if (!row) {
      if (held.has(capture.paymentId)) found.set(capture, 'busy');
      continue;
    }
    const isOther = row.provider_payment_id !== null && !isFor(row, capture);
    found.set(capture, (isOther && (await readStray(tx, row, capture))) || row);
  }
  return found;
}

/** Which of those that could not be locked are there. */
async function findHeld(
  tx: Transaction,
  captures: readonly Capture[],
  locked: ReadonlyMap<string, CaptureRow>,
): Promise<ReadonlySet<string>> {
  const others = captures.flatMap(({ paymentId }) => (locked.has(paymentId) ? [] : [paymentId]));
  if (others.length === 0) return new Set();
  const rows = await tx.rows<{ id: string }>(
    'SELECT id FROM payments WHERE id = ANY ($1::uuid[])',
    [others],
  );
  return new Set(rows.map(({ id }) => id));
}

/** Only of what is closed somebody asks when and why it was: of each other order an instant would be read in vain. */
const OF_CLOSED = (column: string): string =>
  `CASE WHEN o.status = 'closed' THEN o.${column} END AS ${column}`;
const COLUMNS = `p.id AS payment_id, p.provider, p.status AS payment_status, p.amount, p.currency,
         p.order_id, p.provider_payment_id, p.captured_amount, p.captured_currency, p.hold_reason,
         o.status, o.late_payment, ${OF_CLOSED('close_reason')}, ${OF_CLOSED('closes_at')}`;
const ORDER = `SELECT status, close_reason, closes_at, late_payment FROM orders WHERE id = p.order_id`;
const ROW = `SELECT ${COLUMNS} FROM payments p, LATERAL (${ORDER} OFFSET 0) AS o`;
/** What is locked is as it is now, and not as it was when the statement began. */
const LOCKED = `SELECT ${COLUMNS}
    FROM (SELECT * FROM payments WHERE id = ANY ($1::uuid[]) FOR NO KEY UPDATE SKIP LOCKED) AS p,
         LATERAL (${ORDER} FOR NO KEY UPDATE SKIP LOCKED) AS o`;

const isFor = (row: CaptureRow, { providerPaymentId }: Capture): boolean =>
  row.provider_payment_id === providerPaymentId;

/** Money of another payment of the provider, which was given a row of its own when it came first. */
async function readStray(
  tx: Transaction,
  { order_id: orderId, provider }: CaptureRow,
  { providerPaymentId }: Capture,
): Promise<CaptureRow | undefined> {
  const [row] = await tx.rows<CaptureRow>(
    `${ROW} WHERE p.order_id = $1 AND p.provider = $2 AND p.provider_payment_id = $3`,
    [orderId, provider, providerPaymentId],
  );
  return row;
}

export function judge(capture: Capture, row: CaptureRow): CaptureJudgement {
  return judgeCapture(
    {
      paymentStatus: row.payment_status,
      providerPaymentId: row.provider_payment_id,
      amount: Number(row.amount),
      currency: row.currency,
      captured:
        row.captured_amount === null || row.captured_currency === null
          ? null
          : { amount: Number(row.captured_amount), currency: row.captured_currency },
      orderStatus: row.status,
      closesAt: row.closes_at,
      closedByTimeout: row.close_reason === 'payment_timeout',
      latePayment: row.late_payment,
    },
    capture,
  );
}
