import Stripe from 'stripe';
import { LastcallError } from '../../order/errors';
import { EVENTS } from './stripe-notice';

export interface SignedWebhook {
  readonly rawBody: Buffer;
  /** The header `stripe-signature`. */
  readonly signature: string | string[] | undefined;
  readonly secret: string;
}

const TOLERANCE_S = 300;

/**
 * The event, once its signature is known to be genuine and young enough.
 * @throws {LastcallError} bad_signature, stale_timestamp, invalid_request
 */
export function verifyEvent(
  stripe: Stripe,
  { rawBody, signature, secret }: SignedWebhook,
  now: Date,
): Stripe.Event {
  if (typeof signature !== 'string') throw badSignature('the header stripe-signature is missing');
  try {
    const event = stripe.webhooks.constructEvent(
      rawBody,
      signature,
      secret,
      TOLERANCE_S,
      undefined,
      now.getTime(),
    );
    if (isEvent(event)) return event;
    throw new TypeError('it is not an event');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    if (!(error instanceof Stripe.errors.StripeSignatureVerificationError)) {
      throw new LastcallError('invalid_request', `The webhook cannot be read: ${why}`);
    }
    if (!/tolerance/i.test(why)) throw badSignature(why);
    throw new LastcallError('stale_timestamp', 'The webhook was signed too long ago');
  }
}

/** Whatever is JSON and signed comes through the SDK. Of types that are nothing to us nothing more is asked. */
function isEvent(event: unknown): boolean {
  const { id, type, data } = Object(event) as Partial<Record<'id' | 'type' | 'data', unknown>>;
  const { object } = Object(data) as { object?: unknown };
  const isAbout = typeof object === 'object' && object !== null;
  const isOther = !(EVENTS as readonly unknown[]).includes(type);
  return typeof id === 'string' && typeof type === 'string' && (isAbout || isOther);
}

function badSignature(why: string): LastcallError {
  return new LastcallError('bad_signature', `The webhook is not genuine: ${why}`);
}
