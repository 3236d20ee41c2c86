import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { makeAuthority } from '../../../../test/support/certificates';
import { hashTagCount } from './hash-tags';
import { askRedisOnce, FAIL_FAST, openRedis, PATIENT, type RedisAddress } from './redis';

/** As a host has one that came with a package of its own: the same code, and other classes. */
const others = jest.requireActual<typeof import('ioredis')>('../../../../node_modules/ioredis');

const NOWHERE = { host: '127.0.0.1', port: 1 };
const WHERE = { ...NOWHERE, db: 3, password: 'word' };

/** All that a host may want of its own client, and nobody of ours. */
const HOSTS: RedisOptions = {
  lazyConnect: true,
  keyPrefix: 'shop:',
  commandTimeout: 1_000,
  blockingTimeout: 1_000,
  socketTimeout: 1_000,
  autoResendUnfulfilledCommands: false,
  enableAutoPipelining: true,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 3,
  readOnly: true,
  role: 'slave',
  stringNumbers: true,
  monitor: true,
  retryStrategy: () => null,
  sentinelRetryStrategy: () => null,
  scripts: { popDue: { lua: 'return 0', numberOfKeys: 0 } },
};

/** Compared with what is opened for a plain address, which is as it has to be. */
const behaviourOf = (options: RedisOptions) =>
  Object.keys(HOSTS).map((name) => [name, options[name as keyof RedisOptions]] as const);

describe("a host's way to Redis", () => {
  const open: (Redis | Cluster)[] = [];
  const opened = (address: RedisAddress, behaviour: RedisOptions): Redis => {
    const client = openRedis(address, behaviour, () => undefined);
    open.push(client);
    return client;
  };
  const of = <T extends Redis | Cluster>(client: T): T => (open.push(client), client);
  afterEach(() => open.splice(0).forEach((client) => client.disconnect()));

  const ways: readonly (readonly [string, () => RedisAddress])[] = [
    ['options', () => ({ ...WHERE, ...HOSTS })],
    ['a client', () => of(new Redis({ ...WHERE, ...HOSTS }))],
    ['a client of another copy of ioredis', () => of(new others.Redis({ ...WHERE, ...HOSTS }))],
    [
      'a URL with a query',
      () =>
        'redis://:word@127.0.0.1:1/3?keyPrefix=shop:&lazyConnect=true&enableOfflineQueue=false' +
        '&stringNumbers=1&readOnly=1&maxRetriesPerRequest=3&role=slave&monitor=1',
    ],
  ];
  it.each(ways)('as %s says where it is, and nothing of how it is asked', (_, address) => {
    for (const behaviour of [FAIL_FAST, PATIENT]) {
      const plain = opened('redis://127.0.0.1:1', behaviour);
      const client = opened(address(), behaviour);
      expect(client.options).toMatchObject(WHERE);
      expect(behaviourOf(client.options)).toEqual(behaviourOf(plain.options));
      expect([client.status, 'popDue' in client]).toEqual(['connecting', false]);
    }
  });

  it.each([
    ['ours', Cluster],
    ['another copy', others.Cluster],
  ])('as a client of a cluster by %s says the same, and how it is let in', (_, OfCluster) => {
    const { retryStrategy, enableOfflineQueue, readOnly, lazyConnect, ...ofNodes } = HOSTS;
    const { keyPrefix, scripts, enableAutoPipelining } = HOSTS;
    const host = of(
      new OfCluster([NOWHERE], {
        ...{ keyPrefix, scripts, enableAutoPipelining, lazyConnect, enableOfflineQueue },
        scaleReads: 'slave',
        shardedSubscribers: true,
        clusterNodeRetryStrategy: () => 100,
        clusterRetryStrategy: retryStrategy,
        redisOptions: { ...ofNodes, password: 'word', tls: {} },
      }),
    );
    const client = opened(host, PATIENT) as unknown as Cluster;
    const plain = opened('redis://127.0.0.1:1,127.0.0.1:2', PATIENT) as unknown as Cluster;
    expect(client).toBeInstanceOf(Cluster);
    expect((client as unknown as { startupNodes: unknown }).startupNodes).toEqual([NOWHERE]);
    expect(hashTagCount(host)).toBe(hashTagCount('redis://127.0.0.1:1,127.0.0.1:2'));
    const { redisOptions, ...ofCluster } = client.options;
    expect(redisOptions).toMatchObject({ password: 'word', tls: {} });
    expect(behaviourOf(redisOptions ?? {})).toEqual(behaviourOf(plain.options.redisOptions ?? {}));
    expect(behaviourOf(ofCluster)).toEqual(behaviourOf(plain.options));
    expect([ofCluster.scaleReads, ofCluster.clusterRetryStrategy?.(1)]).toEqual([
      'master',
      expect.any(Number),
    ]);
    expect([ofCluster.shardedSubscribers, ofCluster.clusterNodeRetryStrategy]).toEqual([
      plain.options.shardedSubscribers,
      plain.options.clusterNodeRetryStrategy,
    ]);
    expect([client.status, 'popDue' in client]).toEqual(['connecting', false]);
  });
});

/** TLS' own word for "I want a certificate of yours": a fatal alert, number 116. */
const CERTIFICATE_REQUIRED = Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 116]);

describe('askRedisOnce', () => {
  it('tells what kept us from Redis, and not that the connection broke of it', async () => {
    const refusals = [
      (socket: Socket) => socket.once('data', () => socket.end(CERTIFICATE_REQUIRED)),
      (socket: Socket) => socket.resetAndDestroy(),
    ];
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      (refusals.shift() ?? (() => socket.resetAndDestroy()))(socket);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    try {
      await expect(
        askRedisOnce(`rediss://127.0.0.1:${port}`, (client) => client.info()),
      ).rejects.toMatchObject({ code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED' });
    } finally {
      server.close();
    }
  });

  it('knows a hang-up just after the handshake from any other, as the alert may be lost with it', async () => {
    const authority = makeAuthority('the shop');
    const { cert, key } = authority.issue('redis');
    const server = createServer((socket) => {
      const secured = new TLSSocket(socket, { isServer: true, cert, key });
      secured.on('error', () => undefined).once('secure', () => socket.resetAndDestroy());
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    try {
      await expect(
        askRedisOnce({ host: '127.0.0.1', port, tls: { ca: authority.cert } }, (client) =>
          client.info(),
        ),
      ).rejects.toMatchObject({ code: 'ERR_TLS_HUNG_UP' });
    } finally {
      server.close();
    }
  });
});
