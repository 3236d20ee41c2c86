import type { Transaction } from '@app/timeout';

/** Who told of a movement, or decided it. */
export type MovementSource =
  'webhook' | 'answer' | 'reconcile' | 'operator' | 'customer' | 'system' | 'migration';

/**
 * What can happen to a payment's money. `mismatch` and `refund_failed` are told and move nothing;
 * a failed refund is still owed until it is canceled. `refund_reversed`: one that had succeeded came
 * back. `foreign_refund`: made at the provider, by none of our requests; or by one beside that by which our
 * refund is over, whose id is its reason. `dispute_returned`: a part of a lost dispute that came back all the same.
 * `capture_withdrawn`: what was recorded as captured, and counts no longer beside what was told since.
 */
export type MovementKind =
  | 'captured'
  | 'capture_withdrawn'
  | 'mismatch'
  | 'held'
  | 'released'
  | 'refund_requested'
  | 'refund_succeeded'
  | 'refund_failed'
  | 'refund_reversed'
  | 'refund_canceled'
  | 'foreign_refund'
  | 'foreign_refund_failed'
  | 'disputed'
  | 'dispute_won'
  | 'dispute_lost'
  | 'dispute_returned';

/** Why a refund has succeeded that an operator has sent back by another way than its provider. */
export const BY_HAND = 'by_hand';

/** One movement of one payment's money; amounts in minor units. */
export interface Movement {
  readonly orderId: string;
  readonly paymentId: string;
  readonly kind: MovementKind;
  /** Unique for the payment and the kind: the provider's id of what moved. */
  readonly ref: string;
  readonly amount: number;
  readonly currency: string;
  readonly source: MovementSource;
  readonly reason?: string | null | undefined;
}

/**
 * True where this refund of the provider is recorded as failed, whether or not it had succeeded before.
 * The caller has locked the refund's row, by a statement before: one that waits for the row sees nothing
 * of what its holder records.
 */
export async function isRecordedAsFailed(
  tx: Transaction,
  paymentId: string,
  ref: string,
): Promise<boolean> {
  const rows = await tx.rows(
    `SELECT 1 FROM money_movements
      WHERE payment_id = $1 AND kind IN ('refund_failed', 'refund_reversed') AND ref = $2`,
    [paymentId, ref],
  );
  return rows.length > 0;
}

/** True where the provider has made another attempt at this refund of ours, beside the one that counts as it, and that stands. */
export async function isBookedBeside(
  tx: Transaction,
  { paymentId, refundId, amount }: { paymentId: string; refundId: string; amount: number },
): Promise<boolean> {
  const rows = await tx.rows(
    `SELECT FROM money_movements m
      WHERE payment_id = $1 AND kind = 'foreign_refund' AND reason = $2 AND amount >= $3
        AND NOT EXISTS (SELECT FROM money_movements f WHERE f.payment_id = m.payment_id
                           AND f.kind = 'foreign_refund_failed' AND f.ref = m.ref)`,
    [paymentId, refundId, amount],
  );
  return rows.length > 0;
}

/**
 * Appends movements, in the transaction of what they are about. Answers with those that are new:
 * one that is known changes nothing, so whatever was told twice moves money once.
 */
export async function recordMovements<T extends Movement>(
  tx: Transaction,
  movements: readonly T[],
): Promise<T[]> {
  if (movements.length === 0) return [];
  const rows = await tx.hot<{ key: string }>(
    `${APPEND} RETURNING payment_id || ' ' || kind || ' ' || ref AS key`,
    valuesOf(movements),
  );
  const written = new Set(rows.map(({ key }) => key));
  // Told twice in one call: the first of the two is the new one.
  return movements.filter((one) => written.delete(`${one.paymentId} ${one.kind} ${one.ref}`));
}

/** The same where nobody asks which of them are new. */
export async function appendMovements(
  tx: Transaction,
  movements: readonly Movement[],
): Promise<void> {
  if (movements.length > 0) await tx.hot(APPEND, valuesOf(movements));
}

const APPEND = `INSERT INTO money_movements
            (order_id, payment_id, kind, ref, amount, currency, source, reason)
     SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::text[],
                          $7::text[], $8::text[])
     ON CONFLICT (payment_id, kind, ref) DO NOTHING`;

const valuesOf = (movements: readonly Movement[]): unknown[][] => [
  movements.map(({ orderId }) => orderId),
  movements.map(({ paymentId }) => paymentId),
  movements.map(({ kind }) => kind),
  movements.map(({ ref }) => ref),
  movements.map(({ amount }) => amount),
  movements.map(({ currency }) => currency),
  movements.map(({ source }) => source),
  movements.map(({ reason }) => reason ?? null),
];
