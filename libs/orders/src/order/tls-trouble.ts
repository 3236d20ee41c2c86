import { causesOf } from '@app/timeout';

/** Why nobody is spoken to by TLS. */
export type TlsTrouble =
  'expired' | 'not_yet' | 'other_host' | 'not_trusted' | 'own_certificate' | 'no_connection';

/** By Node's own codes, the first that fits. */
const TROUBLES: readonly (readonly [RegExp, TlsTrouble])[] = [
  [/^CERT_HAS_EXPIRED$/, 'expired'],
  [/^CERT_NOT_YET_VALID$/, 'not_yet'],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, 'other_host'],
  [
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|CERT_\w+)$/,
    'not_trusted',
  ],
  // What the other side says of a certificate is of ours: that it wants one, or does not take this one.
  [/^(ERR_SSL_\w+_ALERT_(\w*CERTIFICATE\w*|UNKNOWN_CA)|ERR_TLS_HUNG_UP)$/, 'own_certificate'],
  // No version, or no cipher, that both sides take.
  [/^(EPROTO|ERR_SSL_\w+)$/, 'no_connection'],
];

/** Undefined for whatever else goes wrong. */
export function tlsTrouble(error: unknown): TlsTrouble | undefined {
  for (const cause of causesOf(error)) {
    const code = String((cause as { code?: unknown }).code);
    const trouble = TROUBLES.find(([codes]) => codes.test(code))?.[1];
    if (trouble) return trouble;
  }
  return undefined;
}
