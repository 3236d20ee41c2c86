import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Cluster, Redis } from 'ioredis';
import { openRedis, PATIENT } from './redis';
import { OwnCluster } from '../testing/own-cluster';

jest.setTimeout(60_000);

const TRIES = 12;
/** With the shortest of all pauses: 25, 50, 100, 200, 400 and 500 ms. Without any it is some milliseconds. */
const AT_LEAST_MS = 1_000;
/** So often by who listens alone, it takes as long. */
const REFUSALS = 7;
const LEAVINGS = 400;

describe('who listens to a cluster', () => {
  let cluster: OwnCluster;
  let client: Redis;
  let teller: Redis;
  beforeAll(async () => (cluster = await OwnCluster.start()));
  afterAll(() => cluster?.remove());
  beforeEach(async () => {
    client = openRedis(cluster.url, PATIENT, () => undefined);
    teller = openRedis(cluster.url, PATIENT, () => undefined);
    await client.psubscribe('told*');
  });
  afterEach(() => {
    jest.restoreAllMocks();
    for (const one of [client, teller]) one.disconnect();
  });

  /** What is told before it has subscribed anew is heard by nobody. */
  async function hears(): Promise<void> {
    let hasHeard = false;
    void once(client, 'pmessage').then(() => (hasHeard = true));
    while (!hasHeard) await teller.publish('told', 'x');
  }

  it('is with another node at once when its own hangs up', async () => {
    await hears();
    const nodes = (teller as unknown as Cluster).nodes('all');
    await Promise.all(nodes.map((node) => node.call('CLIENT', 'KILL', 'TYPE', 'pubsub')));
    await hears();
  });

  /** Resolves when who listens and the nodes' own connections have tried it this often together. */
  function untilTried(often = TRIES): Promise<void> {
    const { connect } = Redis.prototype;
    let tries = 0;
    return new Promise<void>((resolve) => {
      jest.spyOn(Redis.prototype, 'connect').mockImplementation(function (this: Redis) {
        if ((tries += 1) === often) resolve();
        return connect.call(this);
      });
    });
  }

  it('looks for one with pauses while all are away, leaks nothing, and hears again', async () => {
    const warnings = jest.spyOn(process, 'emitWarning').mockReturnValue();
    const tried = untilTried();
    await cluster.kill();
    const startedMs = performance.now();
    await tried;
    expect(performance.now() - startedMs).toBeGreaterThan(AT_LEAST_MS);
    expect(warnings).not.toHaveBeenCalled();
    await cluster.start();
    await hears();
  });

  it('leaks nothing either where the node was left before all were away, and hears again', async () => {
    const warnings = jest.spyOn(process, 'emitWarning').mockReturnValue();
    const { subscriber } = client as unknown as { subscriber: { getInstance(): Redis } };
    const heard = subscriber.getInstance().options.port;
    const nodes = (client as unknown as Cluster).nodes('all');
    // None answers whoever would hear another one now.
    cluster.freeze();
    for (const node of nodes) if (node.options.port === heard) node.disconnect();
    while (subscriber.getInstance().options.port === heard) await nextTurn();
    const tried = untilTried();
    await cluster.kill();
    await tried;
    expect(warnings).not.toHaveBeenCalled();
    await cluster.start();
    await hears();
  });

  it('looks for one with pauses while all answer and let nobody in, and hears again', async () => {
    await hears();
    const nodes = (teller as unknown as Cluster).nodes('all');
    const onEach = (...[name, ...args]: [string, ...string[]]): Promise<unknown> =>
      Promise.all(nodes.map((node) => node.call(name, ...args)));
    // Of those who are in already it is not asked for.
    await onEach('CONFIG', 'SET', 'requirepass', 'secret');
    const tried = untilTried(REFUSALS);
    const startedMs = performance.now();
    await onEach('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await tried;
    expect(performance.now() - startedMs).toBeGreaterThan(AT_LEAST_MS);
    await onEach('CONFIG', 'SET', 'requirepass', '');
    await hears();
  });

  it('hears on where its node is left as it begins to listen there, again and again', async () => {
    const { subscriber } = client as unknown as { subscriber: { selectSubscriber(): void } };
    await hears();
    for (let turns = 0; turns < LEAVINGS; turns++) {
      subscriber.selectSubscriber();
      for (let turn = 0; turn < turns % 40; turn++) await nextTurn();
    }
    await hears();
  });
});
