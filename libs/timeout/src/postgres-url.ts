const RULE = 'must be a URL that begins with postgres:// or postgresql://';
const ONE_HOST =
  'must name one host only: where the primary may move, an address that follows it (a proxy, a name in the DNS)';
const SHAPE = 'must be a URL such as postgres://user:password@host:5432/database';

const AUTHORITY = /^postgres(?:ql)?:\/\/([^/?#]*)/i;

/** What is wrong with an address of Postgres; undefined where nothing is. Repeats none of it: it may have a password. */
export function complaintAboutPostgresUrl(address: string): string | undefined {
  const authority = AUTHORITY.exec(address)?.[1];
  if (authority === undefined) return RULE;
  const hosts = authority.slice(authority.lastIndexOf('@') + 1);
  if (hosts.includes(',')) return ONE_HOST;
  return URL.canParse(address) ? undefined : SHAPE;
}
