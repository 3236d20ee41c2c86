import type { Transaction } from '@app/timeout';
import { uuidv7 } from '../order/uuid';
import type { HoldReason } from './capture.judgement';
import type { Judged } from './judged-captures';
import { appendMovements, type Movement, type MovementSource, recordMovements } from './movements';

/* What captures write about money, before anything is decided about their orders. */

/** Money that is not in its payment's row yet. */
export function isNewMoney({ row }: Judged): boolean {
  return row.payment_status !== 'succeeded';
}

const isHeldFor = ({ judgement }: Judged, reason: HoldReason): boolean =>
  judgement.verdict === 'hold' && judgement.reason === reason;

/** Money of another payment of the provider than the one that we opened. */
export const isStray = (one: Judged): boolean => isHeldFor(one, 'reference_mismatch');

/**
 * Money taken under our reference for a payment that we did not open gets a payment of its own, so
 * that it is counted, can go back, and an operator sees it.
 */
export async function keepStrays(
  tx: Transaction,
  wave: readonly Judged[],
): Promise<readonly Judged[]> {
  const kept: Judged[] = [];
  for (const one of wave) {
    if (!isStray(one)) {
      kept.push(one);
      continue;
    }
    const paymentId = uuidv7();
    const { providerPaymentId } = one.capture;
    await tx.rows(
      `INSERT INTO payments (id, order_id, provider, provider_payment_id, status, amount, currency,
                             expires_at)
       SELECT $1, order_id, provider, $2, 'closed', amount, currency, now()
         FROM payments WHERE id = $3`,
      [paymentId, providerPaymentId, one.row.payment_id],
    );
    const row = { ...one.row, payment_id: paymentId, payment_status: 'closed' as const };
    kept.push({ ...one, row: { ...row, provider_payment_id: providerPaymentId } });
  }
  return kept;
}

/** Money is recorded first, whatever is decided about it; it never becomes unrecorded. */
export async function recordMoney(
  tx: Transaction,
  wave: readonly Judged[],
  source: MovementSource,
): Promise<void> {
  if (wave.length === 0) return;
  await tx.hot(
    // By one array and without a join, whatever Postgres believes of how many payments there are.
    `UPDATE payments p
        SET status = 'succeeded', recorded_at = now(),
            (captured_amount, captured_currency, paid_at, hold_reason, provider_payment_id) = (
              SELECT ($3::bigint[])[n], ($4::text[])[n], ($5::timestamptz[])[n], ($6::text[])[n],
                     coalesce(p.provider_payment_id, ($2::text[])[n])
                FROM array_position($1::uuid[], p.id) AS n)
      WHERE p.id = ANY ($1::uuid[]) AND p.status <> 'succeeded'`,
    [
      wave.map(({ row }) => row.payment_id),
      wave.map(({ capture }) => capture.providerPaymentId),
      wave.map(({ capture }) => capture.money.amount),
      wave.map(({ capture }) => capture.money.currency),
      wave.map(({ capture }) => capture.money.paidAt),
      wave.map(({ judgement }) => (judgement.verdict === 'hold' ? judgement.reason : null)),
    ],
  );
  await appendMovements(
    tx,
    wave.flatMap((one) => movementsOf(one, source)),
  );
}

/**
 * Money that an operator said was there before its provider named the payment: without that name
 * nothing of it could ever go back, whether or not it was as much as they said.
 */
export async function learnNames(tx: Transaction, wave: readonly Judged[]): Promise<void> {
  const named = wave.filter((one) => !isNewMoney(one) && one.row.provider_payment_id === null);
  if (named.length === 0) return;
  await tx.rows(
    `UPDATE payments p SET provider_payment_id = ($2::text[])[array_position($1::uuid[], p.id)]
      WHERE p.id = ANY ($1::uuid[]) AND p.provider_payment_id IS NULL`,
    [named.map(({ row }) => row.payment_id), named.map(({ capture }) => capture.providerPaymentId)],
  );
}

function movementsOf({ row, capture, judgement }: Judged, source: MovementSource): Movement[] {
  const { amount, currency } = capture.money;
  const { order_id: orderId, payment_id: paymentId } = row;
  const money = { orderId, paymentId, amount, currency, source };
  const captured = { ...money, kind: 'captured', ref: capture.providerPaymentId } as const;
  if (judgement.verdict !== 'hold') return [captured];
  const { reason } = judgement;
  return [captured, { ...money, kind: 'held', ref: reason, reason }];
}

/**
 * A provider that changed its mind about the amount: what was recorded stays, on hold, and what is
 * said now is a row beside it. Said again after an operator has settled it, it is known.
 */
export async function settleClaims(
  tx: Transaction,
  wave: readonly Judged[],
  source: MovementSource,
): Promise<readonly Judged[]> {
  const changed = wave.filter((one) => isHeldFor(one, 'capture_changed'));
  const claims = changed.map((one) => ({ ...claimOf(one, source), one }));
  const fresh = new Set((await recordMovements(tx, claims)).map(({ one }) => one));
  for (const { one, orderId, paymentId, ref } of claims) {
    if (!fresh.has(one) || one.row.hold_reason !== null) continue;
    await tx.rows(`UPDATE payments SET hold_reason = 'capture_changed' WHERE id = $1`, [paymentId]);
    const held = { amount: Number(one.row.captured_amount), reason: 'capture_changed' };
    const currency = one.row.captured_currency as string;
    await recordMovements(tx, [
      { orderId, paymentId, kind: 'held', ref, ...held, currency, source },
    ]);
  }
  for (const one of wave) {
    const isOnHold = one.row.hold_reason !== null && !isStray(one);
    if (isOnHold && !fresh.has(one)) await claimAgain(tx, claimOf(one, source));
  }
  return wave.map((one) => {
    const isSettled =
      isHeldFor(one, 'capture_changed') && !fresh.has(one) && one.row.hold_reason === null;
    return isSettled ? { ...one, judgement: { verdict: 'known' } } : one;
  });
}

/**
 * Of money on hold: where this was told before, or is what was recorded, it is what is told last now, and a row
 * of its own says so.
 */
async function claimAgain(tx: Transaction, claim: Movement): Promise<void> {
  const { orderId, paymentId, ref, amount, currency, source, reason } = claim;
  await tx.rows(
    `INSERT INTO money_movements
            (order_id, payment_id, kind, ref, amount, currency, source, reason)
     SELECT $1, payment_id, kind, $3 || ' after ' || id, $4, $5, $6, $7
       FROM (SELECT * FROM money_movements WHERE payment_id = $2 AND kind = 'mismatch'
              ORDER BY id DESC LIMIT 1) AS last
      WHERE (last.amount, last.currency) <> ($4::bigint, $5::text)`,
    [orderId, paymentId, ref, amount, currency, source, reason],
  );
}

function claimOf({ row, capture }: Judged, source: MovementSource): Movement {
  const { amount, currency } = capture.money;
  return {
    orderId: row.order_id,
    paymentId: row.payment_id,
    kind: 'mismatch',
    ref: `${capture.providerPaymentId} ${amount} ${currency}`,
    amount,
    currency,
    source,
    reason: 'capture_changed',
  };
}
