import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { OwnRedis } from '../../libs/timeout/src/testing/own-redis';
import { describeClosingOnTime } from './closes-on-time';

/* In a Redis that others use as well, by a user who may do what docs/operations.md says and nothing else. */

const SECRET = 'a-secret';
const [, RULES = ''] =
  /ACL SETUSER shop on >SECRET (.*)/.exec(readFileSync('docs/operations.md', 'utf8')) ?? [];

let server: OwnRedis;
let admin: Redis;
beforeAll(async () => {
  server = await OwnRedis.start();
  admin = new Redis(server.url);
  await admin.call('ACL', 'SETUSER', 'shop', 'reset', 'on', `>${SECRET}`, ...RULES.split(' '));
});
afterAll(async () => {
  admin?.disconnect();
  await server?.remove();
});

const asShop = () => ({
  REDIS_URL: server.url.replace('//', `//shop:${SECRET}@`),
  RATE_LIMIT: '1000/m',
});
describeClosingOnTime('bullmq', asShop);
describeClosingOnTime('redis-zset', asShop);
describeClosingOnTime('redis-list', asShop);

it('asks for nothing that it may not', async () => {
  expect(await admin.call('ACL', 'LOG')).toEqual([]);
  const shop = new Redis(asShop().REDIS_URL);
  await expect(shop.get('others')).rejects.toThrow('NOPERM');
  shop.disconnect();
});
