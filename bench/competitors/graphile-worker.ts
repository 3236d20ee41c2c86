import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import { closeMany, closeOne } from './close-orders';
import { chunksOf, compete } from './competitor';
import { tuned } from './tuned';

const CONCURRENCY = 20;
/** Two do not fight for the products' rows as twenty do. */
const BATCH_CLOSERS = 2;
/** Its documented default. */
const POLL_INTERVAL_MS = 2_000;
/** Its documented default: each worker asks for its next job by itself. */
const NO_LOCAL_QUEUE = -1;
const ADD_CHUNK = 2_000;
/** Orders of one of its "batch jobs", whose payload is a list. */
const BATCH = 500;

/** One job an order; with `--batch`, its batch jobs: one job and one transaction for many. */
compete(async ({ databaseUrl, pool, orders }) => {
  const inBatches = process.argv.some((arg) => arg.startsWith('--batch'));
  const concurrency = tuned('closers', inBatches ? BATCH_CLOSERS : CONCURRENCY);
  const logger = new Logger(() => () => undefined);
  const utils = await makeWorkerUtils({ connectionString: databaseUrl, logger });
  await utils.migrate();
  const due = await orders();
  const jobs = [...chunksOf(due, inBatches ? tuned('batch', BATCH) : 1)].map((chunk) => ({
    identifier: inBatches ? 'closeMany' : 'closeOne',
    payload: inBatches ? chunk.map(({ id }) => id) : { id: chunk[0]?.id },
    runAt: chunk[chunk.length - 1]?.closesAt,
  }));
  for (const chunk of chunksOf(jobs, ADD_CHUNK)) {
    await pool.query(
      `SELECT graphile_worker.add_jobs(array(
         SELECT json_populate_record(NULL::graphile_worker.job_spec, spec)
           FROM json_array_elements($1::json) AS spec))`,
      [
        JSON.stringify(
          chunk.map(({ identifier, payload, runAt }) => ({ identifier, payload, run_at: runAt })),
        ),
      ],
    );
  }
  await utils.release();
  await run({
    connectionString: databaseUrl,
    logger,
    concurrency,
    maxPoolSize: Math.max(concurrency, BATCH_CLOSERS + 2),
    pollInterval: tuned('poll', POLL_INTERVAL_MS),
    noHandleSignals: true,
    preset: { worker: { localQueue: { size: tuned('queue', NO_LOCAL_QUEUE) } } },
    taskList: {
      closeOne: (payload) => closeOne(pool, (payload as { id: string }).id),
      closeMany: (payload) => closeMany(pool, payload as string[]),
    },
  });
});
