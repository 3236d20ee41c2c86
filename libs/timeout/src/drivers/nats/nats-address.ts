import type { NodeConnectionOptions } from '@nats-io/transport-node';

/** Where NATS is, and who we are there, as its client wants it: it reads no names from addresses. */
export type NatsAddress = Pick<NodeConnectionOptions, 'user' | 'pass' | 'token' | 'tls'> & {
  /** Each `host:port`. */
  readonly servers: string[];
};

export const NATS_URL_RULE =
  'must be a URL that begins with nats:// or tls://, or several with commas between them';
export const ONE_NATS_USER_RULE = 'must name the same user, and the same protocol, for each server';

/** Undefined when a part of it is none: {@link NATS_URL_RULE}. */
export function parseNatsUrls(text: string): readonly URL[] | undefined {
  const urls = text.split(',').map((url) => url.trim());
  const isOurs = (url: string): boolean =>
    URL.canParse(url) && /^(nats|tls):$/.test(new URL(url).protocol) && new URL(url).host !== '';
  return urls.every(isOurs) ? urls.map((url) => new URL(url)) : undefined;
}

/** Its client says one name to all of them. Those behind the first may leave it out. */
export function haveOneUser([first, ...others]: readonly URL[]): boolean {
  const { protocol, username, password } = first as URL;
  return others.every(
    (url) =>
      url.protocol === protocol &&
      ((url.username === '' && url.password === '') ||
        (url.username === username && url.password === password)),
  );
}

/** Of a text that holds both rules. `nats://token@host` is a token. */
export function natsAddress(text: string): NatsAddress {
  const urls = parseNatsUrls(text) as readonly [URL, ...URL[]];
  const [{ protocol, username, password }] = urls;
  const [name, pass] = [username, password].map(decodeURIComponent) as [string, string];
  return {
    servers: urls.map(({ host }) => host),
    // Without it a server that speaks no TLS is spoken to in plain text.
    ...(protocol === 'tls:' ? { tls: {} } : {}),
    ...(name === '' ? {} : pass === '' ? { token: name } : { user: name, pass }),
  };
}
