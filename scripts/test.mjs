// npm test [-- jest arguments]: everything a fresh clone needs, then every test.
// TEST_DATABASE_URL and TEST_REDIS_URL name servers to use instead of throw-away ones: all workers share these.
// TEST_RESULTS names a file for Jest's results as JSON.
import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { runCommand } from './run-command.mjs';
import { runScript } from './run-script.mjs';
import { findRedisBinary, startThrowawayServices } from './services/index.mjs';
import { projectFolder } from './services/folders.mjs';
import { setUp } from './set-up.mjs';

const JEST = 'node_modules/jest/bin/jest.js';
/** Many of its tests judge what Postgres reads, which hangs on what neighbours keep it from forgetting. */
const LONG = 'jest.long.config.js';

const { TEST_DATABASE_URL, TEST_REDIS_URL, TEST_RESULTS } = process.env;
const given = Boolean(TEST_DATABASE_URL && TEST_REDIS_URL);
const isShared = Boolean(TEST_DATABASE_URL || TEST_REDIS_URL);
await runScript(async ({ signal, say }) => {
  await setUp({ signal, say });
  const template = `test_template_${randomBytes(4).toString('hex')}`;
  const services = given ? null : await startThrowawayServices({ say });
  /** @type {import('./services/throwaway.mjs').ThrowawayServices[]} */
  const others = [];
  try {
    while (!isShared && others.length + 1 < servers()) {
      others.push(await startThrowawayServices({ say }));
    }
    const env = {
      ...process.env,
      TEST_DATABASE_URL: TEST_DATABASE_URL || services?.databaseUrl,
      TEST_REDIS_URL: TEST_REDIS_URL || services?.redisUrl,
      TEST_REDIS_BIN: services?.redisBinary ?? findRedisBinary(say),
      ...Object.fromEntries(others.flatMap(ofAnotherWorker)),
      // The migrated database that those of the tests are copies of: test/support/migrated-database.ts.
      TEST_TEMPLATE: template,
    };
    const results = TEST_RESULTS ? ['--json', `--outputFile=${TEST_RESULTS}`] : [];
    const args = [JEST, ...results, ...process.argv.slice(2)];
    const { code } = await runCommand(process.execPath, args, { cwd: projectFolder, env, signal });
    return code;
  } finally {
    await Promise.all([services, ...others].map((one) => one?.stop()));
    if (TEST_DATABASE_URL) await dropDatabase(template);
  }
});

/** How many Postgres and Redis servers: one, or one for each worker. */
function servers() {
  const isLong = process.argv.some((argument) => argument.endsWith(LONG));
  return isLong ? createRequire(import.meta.url)(`../${LONG}`).maxWorkers : 1;
}

/**
 * What that worker has instead of the servers of the first: test/runner/environment.cjs.
 * @param {import('./services/throwaway.mjs').ThrowawayServices} services
 * @param {number} index
 */
function ofAnotherWorker({ databaseUrl, redisUrl }, index) {
  return [
    [`TEST_DATABASE_URL_${index + 2}`, databaseUrl],
    [`TEST_REDIS_URL_${index + 2}`, redisUrl],
  ];
}

/**
 * On a server that was there before, and stays.
 * @param {string} name
 */
async function dropDatabase(name) {
  // Not before it has been installed.
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: TEST_DATABASE_URL });
  await client.connect();
  try {
    await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  } finally {
    await client.end();
  }
}
