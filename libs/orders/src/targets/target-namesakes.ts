import type { Tx } from '@app/timeout';
import { NO_ID, type TargetCapture } from './target-payments';

type Named = Pick<TargetCapture, 'payment' | 'providerPaymentId'>;

/** Of these captures, those whose id at the provider is another payment's that was captured: that one's id. */
export async function findTargetNamesakes<Capture extends Named>(
  tx: Tx,
  schema: string,
  captures: readonly Capture[],
): Promise<ReadonlyMap<Capture, string>> {
  const rows = await tx.query<{ nth: string; payment_id: string }>(
    // By that id alone: by its provider Postgres might read all that there is of that.
    `SELECT asked.nth, p.payment_id
       FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS asked (provider, id, place, nth), LATERAL (
         SELECT payment_id FROM "${schema}".target_payments
          WHERE provider_payment_id = asked.place AND status = 'captured' AND provider_payment_id <> '${NO_ID}'
            AND CASE WHEN provider = asked.provider THEN payment_id <> asked.id ELSE false END OFFSET 0) AS p`,
    [
      captures.map(({ payment }) => payment.provider),
      captures.map(({ payment }) => payment.paymentId),
      captures.map(({ providerPaymentId }) => providerPaymentId),
    ],
  );
  return new Map(rows.map(({ nth, payment_id: id }) => [captures[Number(nth) - 1] as Capture, id]));
}
