import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { openRedis, PATIENT } from './redis';
import { parseRedisUrl } from './redis-url';
import { RedisUrlError } from './redis-url.error';

const TLS_HANDSHAKE = 22;

describe('parseRedisUrl', () => {
  it('leaves one server to ioredis', () => {
    const url = 'rediss://user:word@host:7000/3?family=6';
    expect(parseRedisUrl(url)).toMatchObject({ url, isEncrypted: true });
    expect(parseRedisUrl('redis://127.0.0.1').nodes).toEqual([{ host: '127.0.0.1', port: 6_379 }]);
  });

  it.each(['redis://one/1', 'redis://one/', 'redis://one/1/', 'redis://one?db=3'])(
    'takes %s',
    (url) => expect(parseRedisUrl(url)).toMatchObject({ url }),
  );

  it('takes the files of its TLS, whatever its shape', () => {
    const files = `?sslrootcert=${__filename}&sslcert=${__filename}&sslkey=${__filename}`;
    const text = readFileSync(__filename, 'utf8');
    const tls = { ca: text, cert: text, key: text };
    const one = parseRedisUrl(`rediss://one:7000/3${files}&family=6`);
    expect(one).toMatchObject({ url: 'rediss://one:7000/3?family=6', options: { tls } });
    expect(parseRedisUrl(`rediss://one,two${files}`)).toMatchObject({
      cluster: [{ host: 'one' }, { host: 'two' }],
      options: { tls },
    });
    expect(parseRedisUrl(`rediss+sentinel://one,two/shop${files}`)).toMatchObject({
      options: { name: 'shop', tls, sentinelTLS: tls },
    });
  });

  it.each([
    ['rediss://one?sslcert=/none&sslkey=/none', 'its sslcert cannot (ENOENT)'],
    ['rediss://one?sslcert=/none', 'must name sslcert and sslkey together'],
    ['redis://one?sslrootcert=/none', 'must be rediss://'],
  ])('says what is wrong with the files of %s', (url, says) =>
    expect(() => parseRedisUrl(url)).toThrow(says),
  );

  it('takes several for a cluster', () => {
    expect(parseRedisUrl('rediss://ann:p%40ss@one:7001,two:7002,[::1]')).toEqual({
      nodes: expect.arrayContaining([{ host: '[::1]', port: 6_379 }]),
      cluster: [
        { host: 'one', port: 7_001 },
        { host: 'two', port: 7_002 },
        { host: '::1', port: 6_379 },
      ],
      options: { username: 'ann', password: 'p@ss', tls: {} },
      isEncrypted: true,
    });
  });

  it('takes sentinels and the name of their master', () => {
    const { options } = parseRedisUrl('redis+sentinel://:word@one,[fd00::1]:5000/shop/2');
    expect(options).toEqual({
      password: 'word',
      sentinels: [
        { host: 'one', port: 26_379 },
        { host: 'fd00::1', port: 5_000 },
      ],
      name: 'shop',
      db: 2,
    });
  });

  it('asks sentinels and their master alike by TLS', () => {
    const { options, isEncrypted } = parseRedisUrl('rediss+sentinel://:word@one/shop');
    expect({ ...options, isEncrypted }).toMatchObject({
      ...{ tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true },
      isEncrypted: true,
    });
  });

  it.each([
    'nonsense',
    'http://127.0.0.1',
    'redis://one,two/1',
    'redis://one/shop2',
    'redis://one/1/2',
    'redis://one/-1',
    'redis://one/x?family=6',
    'redis://one?db=x',
    'redis+sentinel://one',
    'redis://one:x,two',
    'redis://:50%@one',
    'redis://:50%@one,two',
    'redis+sentinel://:50%@one/shop',
  ])('refuses %s', (url) => expect(() => parseRedisUrl(url)).toThrow(RedisUrlError));
});

it('says nothing to a sentinel in plain text where TLS is asked for', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = openRedis(`rediss+sentinel://127.0.0.1:${port}/shop`, PATIENT, () => undefined);
  try {
    const [socket] = (await once(server, 'connection')) as [Socket];
    const [said] = (await once(socket, 'data')) as [Buffer];
    expect(said[0]).toBe(TLS_HANDSHAKE);
    socket.destroy();
  } finally {
    client.disconnect();
    server.close();
  }
});
