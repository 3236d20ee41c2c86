import type { TimeoutService, Transaction } from '@app/timeout';
import { readBalances } from '../money/balance';
import { cancelUnowed } from '../money/cancel-unowed';
import { recordMovements } from '../money/movements';
import type { HoldReason } from '../money/capture.judgement';

/** A payment on hold, as it was recorded. */
interface Recorded {
  readonly id: string;
  readonly orderId: string;
  readonly holdReason: HoldReason;
  readonly capturedAmount: number;
  readonly capturedCurrency: string;
}

interface Claim {
  readonly ref: string;
  readonly amount: string;
  readonly currency: string;
}

/** What its provider has told last of a payment that it has told otherwise of since it was recorded. */
export async function toldLast(tx: Transaction, paymentId: string): Promise<Claim | undefined> {
  const [claim] = await tx.rows<Claim>(
    `SELECT ref, amount, currency FROM money_movements
      WHERE payment_id = $1 AND kind = 'mismatch' ORDER BY id DESC LIMIT 1`,
    [paymentId],
  );
  return claim;
}

/**
 * What the provider has told last of a payment counts as taken from now on, instead of what was recorded before; what
 * is to go back of it is cut by that. Answers with the amount, or with why it cannot be. The caller has locked the
 * order's row and the payment's, and rolls back where it cannot be.
 */
export async function correctCapture(
  tx: Transaction,
  timeouts: TimeoutService,
  { id: paymentId, orderId, holdReason, capturedAmount, capturedCurrency }: Recorded,
): Promise<number | string> {
  const claim = await toldLast(tx, paymentId);
  if (!claim) return 'only an amount that its provider has told otherwise since can be corrected';
  if (claim.currency !== capturedCurrency) {
    return 'its provider tells of another currency: keep it, and settle that with the customer';
  }
  const amount = Number(claim.amount);
  if (amount === capturedAmount) {
    const next = holdReason === 'capture_changed' ? 'keep it' : 'decide about that';
    return `its provider tells of what was recorded again: ${next}`;
  }
  const money = { orderId, paymentId, ref: claim.ref, currency: claim.currency } as const;
  await recordMovements(tx, [
    { ...money, kind: 'capture_withdrawn', amount: capturedAmount, source: 'operator' },
    { ...money, kind: 'captured', amount, source: 'operator' },
  ]);
  await tx.rows('UPDATE payments SET captured_amount = $2 WHERE id = $1', [paymentId, amount]);
  const refunds = await tx.rows<{ id: string }>('SELECT id FROM refunds WHERE payment_id = $1', [
    paymentId,
  ]);
  // One of them at a time: each that is still owed in part is another one.
  for (const _ of refunds) {
    await cancelUnowed(
      tx,
      timeouts,
      refunds.map(({ id }) => id),
    );
  }
  const balance = (await readBalances(tx, [orderId])).find((one) => one.paymentId === paymentId);
  if (balance && balance.refunded + balance.refunding > amount) {
    return (
      `more than ${amount} ${claim.currency} (minor units) has gone back, or is to go back by refunds ` +
      'that its provider has, or that need attention: end those first (refunds list, refunds retry)'
    );
  }
  return amount;
}

/** What is held for what it is, and not for what was told since, waits for its decision with the amount that counts now. */
export async function holdAgain(tx: Transaction, { id, holdReason }: Recorded): Promise<void> {
  await tx.rows('UPDATE payments SET hold_reason = $2 WHERE id = $1', [id, holdReason]);
  await tx.rows(
    `INSERT INTO money_movements
            (order_id, payment_id, kind, ref, amount, currency, source, reason)
     SELECT p.order_id, p.id, 'held', claim.ref, p.captured_amount, p.captured_currency, 'operator', $2
       FROM payments p, LATERAL (
              SELECT ref FROM money_movements
               WHERE payment_id = p.id AND kind = 'mismatch' ORDER BY id DESC LIMIT 1) AS claim
      WHERE p.id = $1`,
    [id, holdReason],
  );
}
