import { DBOS } from '@dbos-inc/dbos-sdk';
import { closeMany, closeOne } from './close-orders';
import { chunksOf, compete } from './competitor';
import { tuned } from './tuned';

const QUEUE = 'close-orders';
/** So many are handed over at once: each is a transaction of its own. */
const ENQUEUED_AT_ONCE = 50;
const SYSTEM_CONNECTIONS = 20;

/**
 * Durable workflows in Postgres. A workflow an order that waits in its delayed queue, or, with
 * `--sleep`, one that has begun and sleeps; with `--batch=N`, a delayed workflow for so many orders.
 */
compete(async ({ databaseUrl, pool, orders }) => {
  const inBatches = process.argv.some((arg) => arg.startsWith('--batch'));
  const sleeps = process.argv.includes('--sleep');
  DBOS.setConfig({
    name: 'bench',
    systemDatabaseUrl: databaseUrl,
    systemDatabasePoolSize: SYSTEM_CONNECTIONS,
    logLevel: 'error',
  });
  const close = async (ids: readonly string[]): Promise<void> => {
    const [first] = ids;
    if (ids.length === 1 && first) await closeOne(pool, first);
    else await closeMany(pool, ids);
  };
  const closeDue = DBOS.registerWorkflow(
    async (ids: string[], dueMs: number) => {
      if (sleeps) await DBOS.sleep(Math.max(0, dueMs - Date.now()));
      await DBOS.runStep(() => close(ids), { name: 'close' });
    },
    { name: 'closeDue' },
  );
  await DBOS.launch();
  await DBOS.registerQueue(QUEUE, {
    workerConcurrency: tuned('closers', inBatches ? 2 : 100),
    minPollingIntervalMs: tuned('poll', 1_000),
  });
  const jobs = [...chunksOf(await orders(), inBatches ? tuned('batch', 500) : 1)];
  for (const some of chunksOf(jobs, ENQUEUED_AT_ONCE)) {
    await Promise.all(
      some.map((chunk) => {
        const dueMs = chunk[chunk.length - 1]?.closesAt.getTime() ?? 0;
        const delaySeconds = Math.max(0, (dueMs - Date.now()) / 1_000);
        const how = sleeps ? {} : { queueName: QUEUE, enqueueOptions: { delaySeconds } };
        return DBOS.startWorkflow(closeDue, how)(
          chunk.map(({ id }) => id),
          dueMs,
        );
      }),
    );
  }
});
