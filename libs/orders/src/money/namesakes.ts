import type { Transaction } from '@app/timeout';
import type { Capture, CaptureRow } from './judged-captures';

/** Ours that a provider's adapter knows by one id at the provider. */
export interface Namesakes {
  readonly provider: string;
  readonly providerPaymentId: string;
  readonly paymentIds: readonly [told: string, known: string];
}

/** A bug of that adapter: which of them money is for, and goes back to, nobody could tell. */
export const idGivenTwice = ({ provider, providerPaymentId, paymentIds }: Namesakes): TypeError =>
  new TypeError(
    `The provider "${provider}" gives the id "${providerPaymentId}" to two payments, ${paymentIds.join(' and ')}: ` +
      'its adapter has to give each payment an id of its own. Nothing is done for the first one by it',
  );

/** Of captures that would name their payments: those whose name at the provider another payment of ours has. */
export async function findNamesakes(
  tx: Transaction,
  captures: readonly (readonly [Capture, CaptureRow])[],
): Promise<ReadonlyMap<Capture, Namesakes>> {
  const naming = captures.filter(
    ([{ providerPaymentId }, row]) => row.provider_payment_id !== providerPaymentId,
  );
  if (naming.length === 0) return new Map();
  const rows = await tx.rows<{ nth: string; id: string }>(
    `SELECT asked.nth, p.id
       FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked (provider, theirs, nth), LATERAL (
         SELECT id FROM payments
          WHERE provider = asked.provider AND provider_payment_id = asked.theirs OFFSET 0) AS p`,
    [
      naming.map(([, { provider }]) => provider),
      naming.map(([{ providerPaymentId }]) => providerPaymentId),
    ],
  );
  return new Map(
    rows.map(({ nth, id }) => {
      const [capture, row] = naming[Number(nth) - 1] as (typeof naming)[number];
      const { paymentId, providerPaymentId } = capture;
      return [capture, { provider: row.provider, providerPaymentId, paymentIds: [paymentId, id] }];
    }),
  );
}
