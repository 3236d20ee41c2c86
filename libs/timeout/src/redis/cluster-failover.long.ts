import { setImmediate as nextTurn } from 'node:timers/promises';
import { Cluster, type Redis } from 'ioredis';
import { openRedis, PATIENT } from './redis';
import { OwnCluster } from '../testing/own-cluster';

jest.setTimeout(60_000);

const KEY = 'who';

describe('a cluster that a host has a client of, which tries nodes that are away by themselves', () => {
  let cluster: OwnCluster;
  let host: Cluster;
  let client: Redis;
  beforeAll(async () => {
    cluster = await OwnCluster.start({ replicas: true });
    const nodes = cluster.url.replace('redis://', '').split(',');
    host = new Cluster(
      nodes.map((node) => ({ host: '127.0.0.1', port: Number(node.split(':')[1]) })),
      { clusterNodeRetryStrategy: () => 100 },
    );
    client = openRedis(host, PATIENT, () => undefined);
  });
  afterAll(async () => {
    for (const one of [client, host]) one?.disconnect();
    await cluster?.remove();
  });

  /** Whatever is refused meanwhile is asked again, as by whoever rings. */
  async function answer(): Promise<string | null> {
    for (;;) {
      const given = await client.get(KEY).then(
        (name) => ({ name }),
        () => undefined,
      );
      if (given) return given.name;
      await nextTurn();
    }
  }

  it('has the replica of a master that is gone answer for it', async () => {
    await client.set(KEY, 'ann');
    const index = await cluster.masterOf(KEY);
    await cluster.untilCaughtUp(index);
    await cluster.killMaster(index);
    expect(await answer()).toBe('ann');
  });
});
