import PgBoss from 'pg-boss';
import { closeMany, closeOne } from './close-orders';
import { chunksOf, compete } from './competitor';
import { tuned } from './tuned';

const QUEUE = 'close-orders';
const INSERT_CHUNK = 5_000;
/** Its `work` polls twice a second at best; its guide for more is to fetch batches oneself. */
const PLAIN_FETCH = 100;

/** One job an order, fetched in batches; by the argument, a transaction each or one a batch. */
compete(async ({ databaseUrl, pool, orders }) => {
  const inBatches = process.argv.some((arg) => arg.startsWith('--batch'));
  const batchSize = inBatches ? tuned('batch', 1_000) : PLAIN_FETCH;
  const idleMs = tuned('poll', 500);
  const boss = new PgBoss({ connectionString: databaseUrl, schedule: false });
  boss.on('error', console.error);
  await boss.start();
  await boss.createQueue(QUEUE);
  for (const chunk of chunksOf(await orders(), INSERT_CHUNK)) {
    await boss.insert(
      chunk.map(({ id, closesAt }) => ({ name: QUEUE, data: { id }, startAfter: closesAt })),
    );
  }
  const fetcher = async (): Promise<never> => {
    for (;;) {
      const jobs = await boss.fetch<{ id: string }>(QUEUE, { batchSize });
      const ids = jobs.map(({ data }) => data.id);
      if (inBatches && ids.length > 0) await closeMany(pool, ids);
      else await Promise.all(ids.map((id) => closeOne(pool, id)));
      if (jobs.length > 0)
        await boss.complete(
          QUEUE,
          jobs.map(({ id }) => id),
        );
      else await new Promise((resolve) => setTimeout(resolve, idleMs));
    }
  };
  for (let i = 0; i < tuned('closers', 2); i++) void fetcher().catch(fail);
});

function fail(error: unknown): void {
  console.error(error);
  process.exit(1);
}
