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
/** What we read of, as a destination of thin events calls it. */
const READ_THIN = EVENTS.map((type): string => `v1.${type}`);

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
    const signatures = stripe.webhooks.signature;
    if (!signatures) throw new TypeError('its signature cannot be checked');
    const nowMs = now.getTime();
    signatures.verifyHeader(rawBody, signature, secret, TOLERANCE_S, undefined, nowMs);
    const event: unknown = JSON.parse(rawBody.toString('utf8'));
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

/**
 * Whatever is JSON and signed may be one. Of types that are nothing to us nothing more is asked: thin ones
 * (docs.stripe.com/event-destinations) have no object in them, and the SDK would refuse them all.
 */
function isEvent(event: unknown): event is Stripe.Event {
  const { id, type, data } = Object(event) as Partial<Record<'id' | 'type' | 'data', unknown>>;
  if (typeof id !== 'string' || typeof type !== 'string') return false;
  if (READ_THIN.includes(type))
    throw new TypeError(`"${type}" is thin: a snapshot is what has to be sent`);
  const { object } = Object(data) as { object?: unknown };
  const isAbout = typeof object === 'object' && object !== null;
  return isAbout || !(EVENTS as readonly string[]).includes(type);
}

function badSignature(why: string): LastcallError {
  return new LastcallError('bad_signature', `The webhook is not genuine: ${why}`);
}
