import { createHmac, timingSafeEqual } from 'node:crypto';
import { LastcallError } from '../order/errors';
import { webhookKey } from '../settings/webhook-secret';

/** Standard Webhooks: how far the sender's clock and ours may differ. */
const TOLERANCE_S = 300;
const MAX_ID_LENGTH = 200;

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/**
 * Verifies a Standard Webhooks signature over the raw bytes with any of the secrets, in constant
 * time, and the age of the message. Returns the event's id (`webhook-id`).
 * @throws {LastcallError} bad_signature, stale_timestamp
 */
export function verifyStandardWebhook(
  rawBody: Buffer,
  headers: Headers,
  now: Date,
  secrets: readonly string[],
): string {
  const id = single(headers, 'webhook-id');
  const timestamp = single(headers, 'webhook-timestamp');
  const signatures = single(headers, 'webhook-signature');
  if (!/^\d{1,12}$/.test(timestamp)) {
    throw badSignature('webhook-timestamp is not in whole seconds since 1970');
  }
  const given = signatures.split(' ').filter((part) => part.startsWith('v1,'));
  const isGenuine = secrets.some((secret) => {
    const mac = createHmac('sha256', webhookKey(secret));
    const expected = mac.update(`${id}.${timestamp}.`).update(rawBody).digest();
    return given.some((part) => isEqual(expected, Buffer.from(part.slice(3), 'base64')));
  });
  if (!isGenuine) throw badSignature('no signature matches the body');
  // After the signature, so that only the provider learns how our clock is set.
  const ageS = Math.abs(now.getTime() / 1_000 - Number(timestamp));
  if (ageS > TOLERANCE_S) {
    throw new LastcallError(
      'stale_timestamp',
      `webhook-timestamp is ${Math.round(ageS)} s away from now; ${TOLERANCE_S} s are allowed`,
    );
  }
  return id;
}

function isEqual(expected: Buffer, given: Buffer): boolean {
  return expected.length === given.length && timingSafeEqual(expected, given);
}

function single(headers: Headers, name: string): string {
  const value = headers[name];
  if (typeof value !== 'string' || value === '')
    throw badSignature(`the header ${name} is missing`);
  if (name === 'webhook-id' && value.length > MAX_ID_LENGTH)
    throw badSignature(`${name} is too long`);
  return value;
}

function badSignature(why: string): LastcallError {
  return new LastcallError('bad_signature', `The webhook is not genuine: ${why}`);
}
