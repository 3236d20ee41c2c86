import { connect, type Socket } from 'node:net';
import { until } from '../../../../../test/support/until';
import { OwnRedis } from '../../../../timeout/src/testing/own-redis';
import type { Config } from '../../config';
import { examineRedis, howToReach } from './examine-redis';

const look = (url: string) => examineRedis({ REDIS_URL: url } as Config);

describe('examineRedis', () => {
  it('says what keeps us from Redis, and not how often that was tried', async () => {
    expect(await look('redis://127.0.0.1:1')).toMatchObject([
      {
        name: 'reachable',
        state: 'unknown',
        detail: expect.stringContaining('ECONNREFUSED') as string,
      },
    ]);
  });

  it('tells of a database that this Redis does not have', async () => {
    const redis = await OwnRedis.start();
    try {
      expect(await look(`${redis.url}/16`)).toMatchObject([
        {
          name: 'reachable',
          detail: 'ERR DB index is out of range',
          fix: expect.stringContaining('REDIS_URL') as string,
        },
      ]);
    } finally {
      await redis.remove();
    }
  });

  it('tells of one that has no connection left, and before that how many are in use', async () => {
    const redis = await OwnRedis.start({ maxclients: 6 });
    const others: Socket[] = [];
    const holdOneMore = () => others.push(connect(redis.port, '127.0.0.1').on('error', () => {}));
    /** Who has hung up just now may count for another moment. */
    const found = (name: string, detail: string, before = () => {}) =>
      until(`${name}: ${detail}`, async () => {
        before();
        const checks = await look(redis.url);
        return checks.find((check) => check.name === name && check.detail === detail);
      });
    try {
      expect(await found('connections', '1 of 6 in use')).toMatchObject({ state: 'ok' });
      for (let held = 0; held < 4; held++) holdOneMore();
      expect(await found('connections', '5 of 6 in use')).toMatchObject({ state: 'finding' });
      const refusal = 'ERR max number of clients reached';
      expect(await found('reachable', refusal, holdOneMore)).toMatchObject({
        state: 'unknown',
        fix: expect.stringContaining('maxclients') as string,
      });
    } finally {
      for (const other of others) other.destroy();
      await redis.remove();
    }
  });

  it('does not send whoever sees a certificate that is not trusted to Postgres', () => {
    const error = Object.assign(new Error('self-signed certificate'), {
      code: 'SELF_SIGNED_CERT_IN_CHAIN',
    });
    expect(howToReach(error)).toContain('NODE_EXTRA_CA_CERTS');
    expect(howToReach(error)).not.toContain('DATABASE_URL');
  });

  it.each([
    ['CERT_HAS_EXPIRED', 'has expired'],
    ['CERT_NOT_YET_VALID', 'is not valid yet'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'is of another host'],
    ['EPROTO', 'TLS 1.2'],
  ])('says what is wrong with the TLS of Redis (%s), and asks for no authority', (code, what) => {
    const fix = howToReach(Object.assign(new Error('no'), { code }));
    expect(fix).toContain(what);
    expect(fix).not.toContain('NODE_EXTRA_CA_CERTS');
  });

  it('finds that the address leads to a replica, which refuses all that we write', async () => {
    const [old, replica] = await Promise.all([OwnRedis.start(), OwnRedis.start()]);
    try {
      await replica.with((client) => client.replicaof('127.0.0.1', old.port));
      await until('it follows', async () =>
        (await replica.with((client) => client.info('replication'))).includes('link_status:up'),
      );
      const [found, ...others] = (await look(replica.url)).filter(({ state }) => state !== 'ok');
      expect(others).toEqual([]);
      expect(found).toMatchObject({
        name: 'role',
        fix: expect.stringContaining('primary') as string,
      });
    } finally {
      await Promise.all([old.remove(), replica.remove()]);
    }
  });
});
