import { howToReach } from '../ops/doctor/examine-redis';
import { reasonOf } from './errors';
import { postgresRefusal } from './postgres-refusal';
import { redisRefusal } from './redis-refusal';
import { tlsTrouble } from './tls-trouble';

const coded = (code: string): Error => Object.assign(new Error('no'), { code });

it.each([
  ['CERT_HAS_EXPIRED', 'expired'],
  ['CERT_NOT_YET_VALID', 'not_yet'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'other_host'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'not_trusted'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'not_trusted'],
  ['CERT_REVOKED', 'not_trusted'],
  ['EPROTO', 'no_connection'],
  ['ERR_SSL_UNSUPPORTED_PROTOCOL', 'no_connection'],
  ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED', 'own_certificate'],
  ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'own_certificate'],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'own_certificate'],
  ['ERR_TLS_HUNG_UP', 'own_certificate'],
  ['ECONNREFUSED', undefined],
])('knows what %s means', (code, trouble) => {
  expect(tlsTrouble(coded(code))).toBe(trouble);
  expect(tlsTrouble(new Error('connecting', { cause: coded(code) }))).toBe(trouble);
});

it('sends whoever has a certificate that is refused to that one, and to no version of TLS', () => {
  const refused = coded('ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED');
  expect(postgresRefusal(refused)?.mend).toMatch(/sslcert.*ssl_ca_file/);
  expect(howToReach(refused)).toContain('tls-auth-clients');
  for (const fix of [postgresRefusal(refused)?.mend, howToReach(refused)]) {
    expect(fix).not.toContain('TLS 1.2');
  }
});

it('names a certificate of ours, too, where TLS 1.2 says of one that is missing as little as of a cipher', () => {
  const failed = coded('ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE');
  expect(postgresRefusal(failed)?.mend).toMatch(/ssl_ciphers.*sslcert/);
  expect(howToReach(failed)).toMatch(/tls-protocols.*tls-auth-clients/);
});

it('says nothing of an error that leads back to itself', () => {
  const error = coded('ECONNREFUSED');
  error.cause = error;
  expect(tlsTrouble(error)).toBeUndefined();
  expect(postgresRefusal(error)).toBeUndefined();
  expect(redisRefusal(error)).toBeUndefined();
  expect(reasonOf(error)).toBe('no');
});
