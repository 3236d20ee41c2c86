import { findRedisBinary } from '../../scripts/services/index.mjs';
import { OwnCluster } from '../../libs/timeout/src/testing/own-cluster';
import { hashTags } from '../../libs/timeout/src/redis/hash-tags';
import { type Fault, type Step, USUAL_PROCESSES } from './fault';
import { newExperience } from './experience';
import { outage } from './redis.faults';
import { until } from '../support/until';

/** One of the hash tags of the alarms, and so the slot of a quarter of them. */
const ALARMS = hashTags('lc:alarms', 4)[0] as string;
/** A replica stands for election when its master was silent for a second. */
const ELECTION_LIMIT_MS = 30_000;

export const CLUSTER_FAULTS: readonly Fault[] = [
  {
    area: 'Redis Cluster',
    name: 'a master killed, its replica takes over',
    run: (step) =>
      onCluster(step, async (cluster) => {
        const master = await cluster.masterOf(ALARMS);
        return outage(step, {
          begin: () => cluster.killMaster(master),
          last: async () => {
            const moved = async (): Promise<boolean> => (await cluster.masterOf(ALARMS)) !== master;
            await until('a replica is master', moved, ELECTION_LIMIT_MS);
            await step.lasting(10_000, 5_000);
          },
          end: () => cluster.start(),
        });
      }),
  },
  {
    area: 'Redis Cluster',
    name: 'a slot of the alarms moved to another master',
    run: (step) =>
      onCluster(step, (cluster) =>
        outage(step, {
          begin: () => cluster.moveSlotOf(ALARMS),
          last: () => step.lasting(10_000, 5_000),
          end: () => undefined,
        }),
      ),
  },
  {
    area: 'Redis Cluster',
    name: 'all masters killed: the whole cluster refuses',
    run: (step) =>
      onCluster(step, (cluster) =>
        outage(step, {
          begin: () => cluster.killAllMasters(),
          last: () => step.lasting(15_000, 6_000),
          end: () => cluster.start(),
        }),
      ),
  },
];

/** Everybody uses a cluster of three masters with a replica each instead of the one server, for this row. */
async function onCluster(
  step: Step,
  run: (cluster: OwnCluster) => Promise<string>,
): Promise<string> {
  process.env.TEST_REDIS_BIN ??= findRedisBinary(() => undefined);
  const cluster = await OwnCluster.start({ replicas: true });
  try {
    await restartAll(step, { REDIS_URL: cluster.url });
    await step.alarmsAreBack();
    await step.strikes();
    return await run(cluster);
  } finally {
    // What customers meet while everybody is started anew is not the cluster's doing.
    const { client } = step;
    const { experience } = client;
    client.experience = newExperience();
    await restartAll(step, {}).finally(() => cluster.remove());
    experience.wrong.push(...client.experience.wrong);
    client.experience = experience;
  }
}

async function restartAll(step: Step, env: Readonly<Record<string, string>>): Promise<void> {
  for (const usual of USUAL_PROCESSES) {
    const running = step.rig.process(usual.name);
    if (running.isRunning) await running.stop();
    await step.rig.start({ ...usual, env });
  }
}
