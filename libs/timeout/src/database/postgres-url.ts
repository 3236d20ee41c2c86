import { readFileSync } from 'node:fs';
import { hasStrayPercent, STRAY_PERCENT_RULE } from '../stray-percent';

const RULE = 'must be a URL that begins with postgres:// or postgresql://';
const ONE_HOST =
  'must name one host only: where the primary may move, an address that follows it (a proxy, a name in the DNS)';
const SHAPE = 'must be a URL such as postgres://user:password@host:5432/database';

/** What node-postgres knows; whatever else stands there it takes for the strictest, and says nothing. */
const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];
const SSL_FILES = ['sslrootcert', 'sslcert', 'sslkey'];

const AUTHORITY = /^postgres(?:ql)?:\/\/([^/?#]*)/i;

/**
 * What is wrong with an address of Postgres, and with the files that it names; undefined where nothing is. Repeats
 * none of it: it may have a password.
 */
export function complaintAboutPostgresUrl(address: string): string | undefined {
  const authority = AUTHORITY.exec(address)?.[1];
  if (authority === undefined) return RULE;
  const hosts = authority.slice(authority.lastIndexOf('@') + 1);
  if (hosts.includes(',')) return ONE_HOST;
  if (!URL.canParse(address)) return SHAPE;
  if (hasStrayPercent(address)) return STRAY_PERCENT_RULE;
  return complaintAboutTls(new URL(address).searchParams);
}

function complaintAboutTls(params: URLSearchParams): string | undefined {
  const mode = params.get('sslmode');
  if (mode && !SSL_MODES.includes(mode)) {
    return `must have ${SSL_MODES.slice(0, -1).join(', ')} or ${SSL_MODES.at(-1)} for its sslmode`;
  }
  for (const name of SSL_FILES) {
    const code = whyUnreadable(params.get(name));
    if (code) return `must name files that can be read: its ${name} cannot (${code})`;
  }
  return undefined;
}

function whyUnreadable(file: string | null): string | undefined {
  if (!file) return undefined;
  try {
    // As node-postgres does; of a folder the system says that it can be read, until somebody does so.
    readFileSync(file);
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
}
