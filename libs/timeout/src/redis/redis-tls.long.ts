import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../../scripts/services/index.mjs';
import { makeAuthority } from '../../../../test/support/certificates';
import { askRedisOnce, openRedis, PATIENT } from './redis';
import { OwnRedis } from '../testing/own-redis';

describe('A Redis that demands a certificate of its clients', () => {
  let folder: string;
  let redis: OwnRedis;
  let port: number;

  /** All of them by an authority that nobody has heard of yet. */
  async function writeCertificates(): Promise<void> {
    const authority = makeAuthority('the shop');
    const [server, client] = [authority.issue('redis'), authority.issue('lastcall')];
    const files = {
      'ca.pem': authority.cert,
      ...{ 'redis.pem': server.cert, 'redis.key': server.key },
      ...{ 'client.pem': client.cert, 'client.key': client.key },
    };
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  }
  const file = (name: string): string => encodeURIComponent(join(folder, name));
  const urlWith = (files: string): string => `rediss://127.0.0.1:${port}/?${files}`;
  const authority = (): string => `sslrootcert=${file('ca.pem')}`;
  const all = (): string =>
    `${authority()}&sslcert=${file('client.pem')}&sslkey=${file('client.key')}`;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lastcall-redis-tls-'));
    await writeCertificates();
    port = await freePort();
    redis = await OwnRedis.start({
      ...{
        'tls-port': port,
        'tls-auth-clients': 'yes',
        'tls-ca-cert-file': join(folder, 'ca.pem'),
      },
      ...{ 'tls-cert-file': join(folder, 'redis.pem'), 'tls-key-file': join(folder, 'redis.key') },
    });
  });
  afterAll(async () => {
    await redis?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  it('lets in who comes with one, and nobody else', async () => {
    expect(await askRedisOnce(urlWith(all()), (client) => client.ping())).toBe('PONG');
    const without = askRedisOnce(urlWith(authority()), (client) => client.ping());
    // Which of the two it is, Redis' alert and our first command decide between them.
    await expect(without).rejects.toMatchObject({
      code: expect.stringMatching(/^(ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED|ERR_TLS_HUNG_UP)$/),
    });
  });

  it('hears of files that are renewed with the next connection', async () => {
    const client = openRedis(urlWith(all()), PATIENT, () => undefined);
    try {
      expect(await client.ping()).toBe('PONG');
      await redis.kill();
      await writeCertificates();
      await redis.start();
      expect(await client.ping()).toBe('PONG');
    } finally {
      client.disconnect();
    }
  });
});
