const PREFIX = 'whsec_';
/** What Standard Webhooks asks of a secret's length. */
const MIN_BYTES = 24;
const MAX_BYTES = 64;
/** 24 random bytes have more than 20 different ones; a word or a repeated letter has few. */
const MIN_DIFFERENT = 8;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * The signing key of a Standard Webhooks secret: base64, with or without `whsec_` before it, as the
 * official libraries read it. For secrets that have no `weaknessOf` only: others have no key.
 */
export function webhookKey(secret: string): Buffer {
  return Buffer.from(encodedPart(secret), 'base64');
}

/** What is wrong with a secret, to follow its setting's name; undefined when it can be used. */
export function weaknessOf(secret: string): string | undefined {
  const encoded = encodedPart(secret);
  if (!BASE64.test(encoded)) {
    return `must be base64, after "${PREFIX}": echo ${PREFIX}$(openssl rand -base64 32)`;
  }
  const { length } = webhookKey(secret);
  if (length < MIN_BYTES || length > MAX_BYTES) {
    return `must be base64 of ${MIN_BYTES} to ${MAX_BYTES} bytes, and has ${length}`;
  }
  if (new Set(webhookKey(secret)).size < MIN_DIFFERENT) {
    return `can be guessed: echo ${PREFIX}$(openssl rand -base64 32) makes a good one`;
  }
  return undefined;
}

/** Stripe signs with the text as it is, `whsec_` included. */
export function stripeWeaknessOf(secret: string): string | undefined {
  const isWhole = /^whsec_\S{24,}$/.test(secret) && new Set(secret).size > MIN_DIFFERENT;
  return isWhole ? undefined : 'must be the signing secret that Stripe shows: whsec_...';
}

function encodedPart(secret: string): string {
  return secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret;
}
