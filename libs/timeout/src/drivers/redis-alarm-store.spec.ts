import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { takeRedisDatabase } from '../../../../test/support/redis';
import { RedisAlarmStore } from './redis-alarm-store';

let owner: Redis;
let url: URL;
beforeAll(async () => {
  url = new URL(await takeRedisDatabase());
  owner = new Redis(url.href);
});
afterAll(() => owner?.quit());

it("a host's client lends its address, and none of its ways", async () => {
  const scripts = { answer: { lua: "return 'theirs'", numberOfKeys: 0 } };
  const host = new Redis(url.href, { lazyConnect: true, keyPrefix: 'shop:', scripts });
  const onError = (): void => undefined;
  const prefix = `{${randomUUID()}}`;
  const store = new RedisAlarmStore('some', { redis: host, prefix, onError });
  try {
    const generation = await store.generation();
    expect(await owner.get(store.key('generation'))).toBe(generation);
    const ours = { name: 'answer', lua: "return 'ours'" };
    expect(await store.run(ours, [], [])).toBe('ours');
  } finally {
    await store.hangUp();
    host.disconnect();
  }
});

describe('a listening connection', () => {
  const user = `listener-${randomUUID()}`;
  let store: RedisAlarmStore;
  afterEach(async () => {
    store.close();
    await owner.acl('DELUSER', user);
  });

  it('that may not listen again tells of it, and does when it may', async () => {
    await owner.acl('SETUSER', user, 'on', '>secret', 'allcommands', 'allkeys', 'allchannels');
    const address = new URL(url);
    [address.username, address.password] = [user, 'secret'];
    const errors = heard<Error>();
    const backs = heard<void>();
    const messages = heard<string>();
    const prefix = `{${randomUUID()}}`;
    store = new RedisAlarmStore('some', { redis: address.href, prefix, onError: errors.hear });
    const pattern = store.key('wake');
    await store.listen({ pattern, onMessage: messages.hear, onBack: backs.hear });

    // Redis hangs up on who listens to what they may no longer hear.
    await owner.acl('SETUSER', user, 'resetchannels');
    await errors.until(({ message }) => message.includes('NOPERM'));

    const before = backs.all.length;
    await owner.acl('SETUSER', user, 'allchannels');
    await owner.client('KILL', 'USER', user);
    await backs.until(() => backs.all.length > before);
    await owner.publish(pattern, 'due');
    await messages.until((message) => message === 'due');
  });
});

/** Notes what it hears, and lets others wait for it. */
function heard<T>() {
  const all: T[] = [];
  let look = (): void => undefined;
  return {
    all,
    hear: (what: T): void => {
      all.push(what);
      look();
    },
    until: (isIt: (what: T) => boolean): Promise<void> =>
      new Promise((resolve) => {
        look = () => all.some(isIt) && resolve();
        look();
      }),
  };
}
