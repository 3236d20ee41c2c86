import type { Transaction } from '@app/timeout';
import { LastcallError } from '../order/errors';
import type { PaymentStatus } from '../order/order';
import type { PaymentRef, PaymentRequest } from '../providers/payment-provider';

/** A payment with what its provider was sent, or will be. */
export interface Planned extends PaymentRef {
  /** Its own for good, whichever takes new payments by now. */
  readonly provider: string;
  readonly request: PaymentRequest;
  /** False where it may have been sent before. */
  readonly isNew: boolean;
}

export interface FoundPayment extends Planned {
  readonly status: PaymentStatus;
  /** True once there is a page for the buyer to pay on. */
  readonly hasPage: boolean;
  /** True where it may have ended at its provider, which nobody has told. */
  readonly mayHaveEnded: boolean;
}

interface Row {
  id: string;
  provider: string;
  provider_payment_id: string | null;
  status: PaymentStatus;
  amount: string;
  currency: string;
  expires_at: Date;
  has_page: boolean;
  may_have_ended: boolean;
  request: PaymentRequest | null;
}

interface Asked {
  readonly orderId: string;
  readonly provider?: string | undefined;
  readonly returnUrl?: string | undefined;
  readonly idempotencyKey?: string | undefined;
}

/**
 * Past its own end, or open for longer than a buyer takes: providers end pages when they like to, an extended
 * order's at its first end, and Stripe's after a day.
 */
const MAY_HAVE_ENDED = `p.status = 'open' AND p.checkout_url IS NOT NULL
  AND (p.expires_at <= now() OR p.created_at <= now() - interval '10 minutes')`;

const COLUMNS = `p.id, p.provider, p.provider_payment_id, p.status, p.amount, p.currency,
  p.expires_at, p.checkout_url IS NOT NULL AS has_page, p.request, ${MAY_HAVE_ENDED} AS may_have_ended`;

/**
 * The payment that this key has started, or found open. One that has failed and is known at no
 * provider is no payment: its buyer was told to try again.
 * @throws {LastcallError} idempotency_key_reused for another request than this one
 */
export async function findByKey(
  tx: Transaction,
  { orderId, provider, returnUrl, idempotencyKey: key }: Asked,
): Promise<FoundPayment | undefined> {
  if (key === undefined) return undefined;
  const [row] = await tx.rows<Row & { asked: string | null; back_to: string | null }>(
    `SELECT ${COLUMNS}, k.provider AS asked, k.return_url AS back_to
       FROM payment_keys k JOIN payments p ON p.id = k.payment_id
      WHERE k.order_id = $1 AND k.key = $2`,
    [orderId, key],
  );
  const isSame = row?.asked === (provider ?? null) && row.back_to === (returnUrl ?? null);
  if (row && !isSame) {
    const message = 'This Idempotency-Key has started another payment; use a new key for a new one';
    throw new LastcallError('idempotency_key_reused', message);
  }
  const isGivenUp = row?.status === 'failed' && row.provider_payment_id === null;
  return row && !isGivenUp ? found(row) : undefined;
}

/** The newest payment that is open at this provider: a second one would let the buyer pay twice. */
export async function findOpen(
  tx: Transaction,
  orderId: string,
  provider: string,
): Promise<FoundPayment | undefined> {
  const [row] = await tx.rows<Row>(
    `SELECT ${COLUMNS} FROM payments p
      WHERE p.order_id = $1 AND p.provider = $2 AND p.status = 'open'
        AND (p.checkout_url IS NOT NULL OR p.request IS NOT NULL)
      ORDER BY p.id DESC LIMIT 1`,
    [orderId, provider],
  );
  return row && found(row);
}

/** The key leaves a payment that was given up for the one that takes its place. */
export async function rememberKey(
  tx: Transaction,
  { orderId, provider, returnUrl, idempotencyKey: key }: Asked,
  paymentId: string,
): Promise<void> {
  if (key === undefined) return;
  await tx.rows(
    `INSERT INTO payment_keys (order_id, key, payment_id, provider, return_url)
     VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (order_id, key) DO UPDATE SET payment_id = excluded.payment_id`,
    [orderId, key, paymentId, provider ?? null, returnUrl ?? null],
  );
}

function found(row: Row): FoundPayment {
  return {
    paymentId: row.id,
    provider: row.provider,
    providerPaymentId: row.provider_payment_id,
    amount: Number(row.amount),
    currency: row.currency,
    expiresAt: row.expires_at,
    request: row.request ?? {},
    status: row.status,
    hasPage: row.has_page,
    mayHaveEnded: row.may_have_ended,
    isNew: false,
  };
}
