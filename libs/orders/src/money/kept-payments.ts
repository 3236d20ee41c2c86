import type { Transaction } from '@app/timeout';

/** Those of these payments whose money is for the shop to keep beside what orders cost, as an operator has decided. */
export async function keptAmong(
  tx: Transaction,
  paymentIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (paymentIds.length === 0) return new Set();
  const rows = await tx.rows<{ subject_id: string }>(
    `SELECT subject_id FROM operator_actions
      WHERE subject_id = ANY ($1::uuid[]) AND action = 'payment.keep'`,
    [paymentIds],
  );
  return new Set(rows.map(({ subject_id: paymentId }) => paymentId));
}
