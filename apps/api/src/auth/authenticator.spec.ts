import { createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Config, LastcallError } from '@app/orders';
import type { FastifyRequest } from 'fastify';
import { exportJWK, generateKeyPair, jwtVerify, SignJWT, UnsecuredJWT } from 'jose';
import { Authenticator } from './authenticator';

const SECRET = 'a-secret-for-tests-of-32-characters';
const KEY = new TextEncoder().encode(SECRET);
const NOW = Math.floor(Date.now() / 1_000);

/** The clock stands still, and nothing else does: the keys are fetched by real timers. */
const REAL = [
  ...(['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate'] as const),
  ...(['clearImmediate', 'nextTick', 'queueMicrotask', 'performance', 'hrtime'] as const),
] as const;

beforeEach(() => void jest.useFakeTimers({ now: NOW * 1_000, doNotFake: [...REAL] }));
afterEach(() => void jest.useRealTimers());

const requestWith = (authorization?: string) =>
  ({ headers: { authorization }, caller: null }) as unknown as FastifyRequest;

const MAX_AGE = { AUTH_MAX_AGE: 3_600_000 };
const claims = { sub: 'ann', scope: 'orders', exp: NOW + 60 };
const sign = (payload: Record<string, unknown>, alg = 'HS256', key: Uint8Array = KEY) =>
  new SignJWT(payload).setProtectedHeader({ alg }).sign(key);

const encode = (text: string) => Buffer.from(text).toString('base64url');
const signText = (text: string) =>
  `${text}.${createHmac('sha256', SECRET).update(text).digest('base64url')}`;
/** Signed with the right secret, whatever it says. */
const forge = (header: object, payload: object) =>
  signText(`${encode(JSON.stringify(header))}.${encode(JSON.stringify(payload))}`);

/** The last character of 32 bytes in base64url carries two bits that mean nothing. */
function otherText(token: string): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return token.slice(0, -1) + letters[letters.indexOf(token.at(-1) as string) ^ 1];
}

/** How the token is refused: its code and words; undefined when it is not. */
async function refusalOf(authenticator: Authenticator, authorization?: string) {
  try {
    await authenticator.identify(requestWith(authorization));
  } catch (error) {
    if (error instanceof LastcallError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return undefined;
}

describe('Authenticator with a secret', () => {
  const authenticator = new Authenticator({ AUTH_JWT_SECRET: SECRET, ...MAX_AGE });
  const refusal = async (token: string | Promise<string>) =>
    refusalOf(authenticator, `Bearer ${await token}`);

  it('knows the caller by the token and keeps them on the request', async () => {
    const request = requestWith(`Bearer ${await sign(claims)}`);
    const caller = await authenticator.identify(request);
    expect(caller).toMatchObject({ subject: 'ann', expiresAtMs: (NOW + 60) * 1_000 });
    expect(request.caller).toBe(caller);
  });

  it('reads scopes from a text or a list', async () => {
    for (const scope of ['orders ops', ['orders', 'ops']]) {
      const request = requestWith(`Bearer ${await sign({ ...claims, scope })}`);
      const { scopes } = await authenticator.identify(request);
      expect([...scopes]).toEqual(['orders', 'ops:read', 'ops:write', 'ops:admin', 'metrics']);
    }
    const none = requestWith(`Bearer ${await sign({ sub: 'ann', exp: NOW + 60 })}`);
    expect([...(await authenticator.identify(none)).scopes]).toEqual([]);
  });

  it('answers without a promise for a token it has verified, until the token ends', async () => {
    const header = `Bearer ${await sign({ ...claims, sub: 'twice' })}`;
    await authenticator.identify(requestWith(header));
    expect(authenticator.identify(requestWith(header))).not.toBeInstanceOf(Promise);
    jest.setSystemTime((NOW + 61) * 1_000);
    expect(await refusalOf(authenticator, header)).toBe('unauthorized: The token has expired');
  });

  it('asks for a token where there is none', async () => {
    expect(await refusalOf(authenticator)).toMatch(/^unauthorized: Send a token/);
    for (const header of ['Bearer', 'Bearer ', 'Basic YTpi', 'Bearer a.b', 'Bearer a.b.c d']) {
      expect(await refusalOf(authenticator, header)).toMatch(/^unauthorized: /);
    }
  });

  it.each<[string, () => string | Promise<string>]>([
    ['expired', () => sign({ ...claims, exp: NOW - 1 })],
    ['not valid yet', () => sign({ ...claims, nbf: NOW + 60 })],
    ['signed by somebody else', () => sign(claims, 'HS256', new Uint8Array(32))],
    ['signed by another algorithm', () => sign(claims, 'HS512')],
    ['not signed at all', () => new UnsecuredJWT(claims).encode()],
    ['changed after signing', async () => (await sign(claims)).replace(/\.[^.]+\./, '.e30.')],
    ['without a subject', () => sign({ scope: 'orders', exp: NOW + 60 })],
    ['with an empty subject', () => sign({ ...claims, sub: '' })],
    ['with a subject too long', () => sign({ ...claims, sub: 'a'.repeat(201) })],
    ['with a NUL in its subject', () => sign({ ...claims, sub: 'a\0b' })],
    ['with half a pair of surrogates in its subject', () => sign({ ...claims, sub: 'a\ud800' })],
    ['of who is called as an erased customer is', () => sign({ ...claims, sub: 'erased:0f' })],
    ['without an end', () => sign({ sub: 'ann', scope: 'orders' })],
    ['good for longer than AUTH_MAX_AGE', () => sign({ ...claims, exp: NOW + 3_700 })],
    ['older than AUTH_MAX_AGE', () => sign({ ...claims, iat: NOW - 3_601 })],
    ['too long', () => sign({ ...claims, padding: 'a'.repeat(9_000) })],
    ['not valid yet, in words', () => forge({ alg: 'HS256' }, { ...claims, nbf: 'soon' })],
    ['good until a word', () => forge({ alg: 'HS256' }, { ...claims, exp: '9999999999' })],
    [
      'of the day before yesterday, in words',
      () => forge({ alg: 'HS256' }, { ...claims, iat: '' }),
    ],
    ['signed, and says that it is not', () => forge({ alg: 'none' }, claims)],
    ['signed, and names no algorithm', () => forge({}, claims)],
    ['full of demands', () => forge({ alg: 'HS256', crit: ['exp'] }, claims)],
    ['a list', () => forge({ alg: 'HS256' }, [claims])],
    ['no JSON', () => signText(`${encode('{"alg":"HS256"}')}.${encode('{')}`)],
    ['of two parts', () => signText(encode('{"alg":"HS256"}'))],
    ['of four parts', () => signText(`${encode('{"alg":"HS256"}')}.${encode('{}')}.e30`)],
    ['signed by other text for the same bytes', async () => otherText(await sign(claims))],
  ])('refuses a token that is %s', async (_, token) => {
    expect(await refusal(token())).toMatch(/^unauthorized: /);
  });

  it('says all of the rule that a subject breaks', async () => {
    const broken = refusal(sign({ ...claims, sub: 'a\u0007b' }));
    expect(await broken).toContain('1 to 200 characters, none of them for control');
  });

  it.each([
    ['exp', { exp: undefined }],
    ['sub', { sub: undefined }],
    ['nbf', { nbf: NOW + 30 }],
    ['iat', { iat: 'today' }],
  ])('says that it is the %s that is wrong, to who could sign', async (claim, change) => {
    const token = forge({ alg: 'HS256' }, { ...claims, ...change });
    expect(await refusal(token)).toBe(
      `unauthorized: The token's ${claim} is missing, or not what it must be`,
    );
  });

  it('grants nothing for a scope it does not know', async () => {
    for (const scope of ['ops:*', 'constructor', '__proto__', 'OPS', ['orders', 7, null]]) {
      const request = requestWith(`Bearer ${await sign({ ...claims, scope })}`);
      const { scopes } = await authenticator.identify(request);
      expect([...scopes]).toEqual(Array.isArray(scope) ? ['orders'] : []);
    }
  });

  it('agrees with jose about issuer and audience', async () => {
    const strict = new Authenticator({
      ...{ AUTH_JWT_SECRET: SECRET, AUTH_ISSUER: 'us', AUTH_AUDIENCE: 'shop' },
      ...MAX_AGE,
    });
    const cases: object[] = [
      ...[{}, { iss: 'us' }, { iss: ['us'], aud: 'shop' }, { iss: 'us', aud: ['x'] }],
      ...[{ iss: 'us', aud: 'shop' }, { iss: 'us', aud: ['x', 'shop'] }, { aud: 'shop' }],
    ];
    for (const given of cases) {
      const token = forge({ alg: 'HS256' }, { ...claims, ...given });
      const byJose = await jwtVerify(token, KEY, { issuer: 'us', audience: 'shop' }).then(
        () => undefined,
        ({ claim }: { claim: string }) =>
          `unauthorized: The token's ${claim} is missing, or not what it must be`,
      );
      expect({ given, refusal: await refusalOf(strict, `Bearer ${token}`) }).toEqual({
        given,
        refusal: byJose,
      });
    }
  });

  it('takes a subject of 200 characters', async () => {
    expect(await refusal(sign({ ...claims, sub: 'a'.repeat(200) }))).toBeUndefined();
  });
});

const ISSUED = { ...MAX_AGE, AUTH_ISSUER: 'https://issuer.test', AUTH_AUDIENCE: 'shop' };

describe('Authenticator with the keys of an issuer', () => {
  let server: Server;
  let jwk: object;
  let published: object[];
  let keys: Awaited<ReturnType<typeof generateKeyPair>>;
  let settings: Config;
  let authenticator: Authenticator;

  const issue = (change: Record<string, unknown> = {}) =>
    new SignJWT({ ...claims, iss: 'https://issuer.test', aud: ['shop', 'other'], ...change })
      .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
      .sign(keys.privateKey);

  beforeAll(async () => {
    keys = await generateKeyPair('ES256');
    jwk = { ...(await exportJWK(keys.publicKey)), kid: 'k1', alg: 'ES256' };
    published = [jwk];
    server = createServer((_, answer) => answer.end(JSON.stringify({ keys: published })));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    settings = { ...ISSUED, AUTH_JWKS_URL: `http://127.0.0.1:${port}/` } as Config;
    authenticator = new Authenticator(settings);
  });
  afterAll(() => server.close());

  it('takes a token the issuer has signed', async () => {
    expect(await refusalOf(authenticator, `Bearer ${await issue()}`)).toBeUndefined();
  });

  it('refuses one that is signed with a secret, whatever the secret', async () => {
    const { x } = await exportJWK(keys.publicKey);
    const token = await sign(claims, 'HS256', new TextEncoder().encode(x));
    expect(await refusalOf(authenticator, `Bearer ${token}`)).toMatch(/^unauthorized: /);
  });

  it.each<[string, string, Record<string, unknown>]>([
    ['of another issuer', 'iss', { iss: 'https://else.test' }],
    ['of no issuer', 'iss', { iss: undefined }],
    ['for another audience', 'aud', { aud: 'other' }],
    ['for no audience', 'aud', { aud: undefined }],
    ['without an end', 'exp', { exp: undefined }],
  ])('refuses a token %s, and names its %s', async (_, claim, change) => {
    const header = `Bearer ${await issue(change)}`;
    const refused = await refusalOf(authenticator, header);
    expect(refused).toMatch(new RegExp(`^unauthorized: The token's ${claim} is `));
  });

  it('believes a key that was withdrawn for five minutes at the most', async () => {
    const fresh = new Authenticator(settings);
    try {
      const header = `Bearer ${await issue({ exp: NOW + 3_600 })}`;
      expect(await refusalOf(fresh, header)).toBeUndefined();
      published = [];
      // The token is verified anew just before the keys are too old, and remembered from then on.
      jest.setSystemTime(Date.now() + 149_000);
      expect(await refusalOf(fresh, `Bearer ${await issue({ exp: NOW + 3_601 })}`)).toBeUndefined();
      jest.setSystemTime(Date.now() + 150_001);
      for (const exp of [NOW + 3_600, NOW + 3_601]) {
        const again = `Bearer ${await issue({ exp })}`;
        expect(await refusalOf(fresh, again)).toMatch(/^unauthorized: /);
      }
    } finally {
      published = [jwk];
    }
  });

  it('asks the issuer once for one request, whoever wants to know and whatever came of it', async () => {
    let asked = 0;
    const away = createServer((_, answer) => {
      asked += 1;
      answer.writeHead(500).end();
    });
    await new Promise<void>((resolve) => away.listen(0, '127.0.0.1', resolve));
    const { port } = away.address() as AddressInfo;
    const alone = new Authenticator({ ...settings, AUTH_JWKS_URL: `http://127.0.0.1:${port}/` });
    const request = requestWith(`Bearer ${await issue()}`);
    for (let i = 0; i < 2; i++) {
      await expect(alone.identify(request)).rejects.toMatchObject({ code: 'unavailable' });
    }
    expect(asked).toBe(1);
    away.close();
  });

  it('says that it cannot tell, when the issuer does not answer', async () => {
    const alone = new Authenticator({ ...settings, AUTH_JWKS_URL: 'http://127.0.0.1:1/' });
    expect(await refusalOf(alone, `Bearer ${await issue()}`)).toMatch(/^unavailable: /);
  });
});
