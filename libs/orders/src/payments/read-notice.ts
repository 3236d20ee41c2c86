import { z } from 'zod';
import { LastcallError } from '../order/errors';
import { readInput, unlessMissing, wholeNumber } from '../order/read-input';
import { shortenedWhy } from '../order/shortened';
import type { OrdersTelemetry } from '../order/telemetry';
import type { PaymentProvider, ProviderNotice } from '../providers/payment-provider';
import { storable } from '../providers/storable';

export type WebhookHeaders = Parameters<PaymentProvider['readWebhook']>[1];

/** Longer ones are in no index. */
const MAX_ID_LENGTH = 500;
const ID_RULE = `must be a text of 1 to ${MAX_ID_LENGTH} characters`;
const id = z.string(unlessMissing(ID_RULE)).min(1).max(MAX_ID_LENGTH);
const minorUnits = wholeNumber(0, Number.MAX_SAFE_INTEGER);

/**
 * What the code of a provider has made of a webhook, whoever wrote it. Nothing else could be applied,
 * however often; and of an instant that is none the inbox, which is JSON, would make 1970.
 */
const noticeRules = z.object({
  eventId: id,
  providerPaymentId: id.optional(),
  amount: minorUnits.optional(),
  returned: minorUnits.optional(),
  money: z
    .object({
      amount: minorUnits,
      currency: z.string(unlessMissing('must be a text')),
      paidAt: z.date(unlessMissing('must be an instant')),
    })
    .optional(),
});

/**
 * Has the provider verify a webhook on its raw bytes, and say what it is about; counts what is refused.
 * @throws {LastcallError} bad_signature, stale_timestamp, invalid_request; busy: it has to be sent again
 * @throws {TypeError} for what was not sent so, such as a body that was parsed
 */
export async function readNotice(
  provider: PaymentProvider,
  rawBody: Buffer,
  headers: WebhookHeaders,
  { now, telemetry }: { readonly now: Date; readonly telemetry: OrdersTelemetry },
): Promise<ProviderNotice> {
  assertSent(rawBody);
  try {
    const said = await provider.readWebhook(rawBody, headers, now);
    readInput(noticeRules, said);
    const notice = shortenedWhy(said);
    return rawBody.includes('\\u') ? storable(notice) : notice;
  } catch (error) {
    const code = error instanceof LastcallError ? error.code : undefined;
    if (code === 'provider_error') {
      // Genuine, and not yet understood: nothing is stored, so it has to be sent again.
      telemetry.webhook('failed');
      throw new LastcallError('busy', 'The webhook cannot be read now; send it again', {});
    }
    const known = code === 'bad_signature' || code === 'stale_timestamp';
    telemetry.webhook(known ? code : 'malformed');
    throw error;
  }
}

/** A host's request has no `rawBody` unless it is asked for: a provider would fail of that by words of its own. */
function assertSent(rawBody: unknown): void {
  if (rawBody instanceof Uint8Array || typeof rawBody === 'string') return;
  throw new TypeError(
    'A webhook is read by the bytes that were sent, a Buffer: NestFactory.create(App, { rawBody: true }) keeps them as ' +
      '`request.rawBody`, of a body that its parsers take',
  );
}
