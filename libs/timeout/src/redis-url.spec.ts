import { parseRedisUrl, RedisUrlError } from './redis-url';

describe('parseRedisUrl', () => {
  it('leaves one server to ioredis', () => {
    const url = 'rediss://user:word@host:7000/3?family=6';
    expect(parseRedisUrl(url)).toMatchObject({ url, isEncrypted: true });
    expect(parseRedisUrl('redis://127.0.0.1').nodes).toEqual([{ host: '127.0.0.1', port: 6_379 }]);
  });

  it('takes several for a cluster', () => {
    expect(parseRedisUrl('rediss://ann:p%40ss@one:7001,two:7002,[::1]')).toEqual({
      nodes: expect.anything(),
      cluster: [
        { host: 'one', port: 7_001 },
        { host: 'two', port: 7_002 },
        { host: '[::1]', port: 6_379 },
      ],
      options: { username: 'ann', password: 'p@ss', tls: {} },
      isEncrypted: true,
    });
  });

  it('takes sentinels and the name of their master', () => {
    const { options } = parseRedisUrl('redis+sentinel://:word@one,two:5000/shop/2');
    expect(options).toEqual({
      password: 'word',
      sentinels: [
        { host: 'one', port: 26_379 },
        { host: 'two', port: 5_000 },
      ],
      name: 'shop',
      db: 2,
    });
  });

  it.each([
    'nonsense',
    'http://127.0.0.1',
    'redis://one,two/1',
    'redis+sentinel://one',
    'redis://one:x,two',
  ])('refuses %s', (url) => expect(() => parseRedisUrl(url)).toThrow(RedisUrlError));
});
