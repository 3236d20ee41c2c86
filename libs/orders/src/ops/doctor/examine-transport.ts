import { parseRedisUrl } from '@app/timeout';
import { Client } from 'pg';
import type { Config } from '../../config';
import { type Check, ok, warning } from './check';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|)$/;
const UNSEEN = 'TLS, without a look at its certificate, which anybody between may have made';

/**
 * Passwords, orders and customers in plain text on a network are anybody's who listens there. A
 * warning: a network of containers on one machine may be nobody else's. Keys of an issuer are
 * refused without TLS when the settings are read (config.ts).
 */
export function examineTransport(config: Pick<Config, 'DATABASE_URL' | 'REDIS_URL'>): Check[] {
  const database = new URL(config.DATABASE_URL);
  const redis = config.REDIS_URL ? parseRedisUrl(config.REDIS_URL) : undefined;
  const checks = [
    described(
      'postgres',
      database,
      tlsOf(config.DATABASE_URL),
      'add ?sslmode=verify-full to DATABASE_URL (and let Postgres have a certificate)',
    ),
  ];
  if (!redis) return checks;
  const fix = 'let REDIS_URL begin with rediss:// (and let Redis have a certificate)';
  return [
    ...checks,
    ...redis.nodes.map(({ host, port }) =>
      described(
        'redis',
        new URL(`redis://${host}:${port}`),
        redis.isEncrypted ? 'TLS' : undefined,
        fix,
      ),
    ),
  ];
}

/** As node-postgres reads the address, where each of several parameters asks for TLS. */
function tlsOf(connectionString: string): string | undefined {
  try {
    const { ssl } = new Client({ connectionString }) as { readonly ssl: unknown };
    if (!ssl) return undefined;
    return (ssl as { rejectUnauthorized?: boolean }).rejectUnauthorized === false ? UNSEEN : 'TLS';
  } catch {
    // It wants more to go by than the address gives: nothing is said to anybody.
    return 'TLS';
  }
}

function described(area: Check['area'], url: URL, tls: string | undefined, fix: string): Check {
  if (tls) return ok(area, 'transport', tls);
  // A socket of this machine has no host, or names its folder as one.
  const isHere = LOOPBACK.test(url.hostname) || url.searchParams.get('host')?.startsWith('/');
  if (isHere) return ok(area, 'transport', 'on this machine');
  return warning(area, 'transport', `plain text to ${url.hostname}`, fix);
}
