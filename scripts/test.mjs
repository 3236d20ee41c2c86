// npm test [-- jest arguments]: everything a fresh clone needs, then every test.
// TEST_DATABASE_URL and TEST_REDIS_URL name servers to use instead of throw-away ones.
// TEST_RESULTS names a file for Jest's results as JSON.
import { randomBytes } from 'node:crypto';
import { runCommand } from './run-command.mjs';
import { runScript } from './run-script.mjs';
import { findRedisBinary, startThrowawayServices } from './services/index.mjs';
import { projectFolder } from './services/folders.mjs';
import { setUp } from './set-up.mjs';

const JEST = 'node_modules/jest/bin/jest.js';

const { TEST_DATABASE_URL, TEST_REDIS_URL, TEST_RESULTS } = process.env;
const given = Boolean(TEST_DATABASE_URL && TEST_REDIS_URL);
await runScript(async ({ signal, say }) => {
  await setUp({ signal, say });
  const template = `test_template_${randomBytes(4).toString('hex')}`;
  const services = given ? null : await startThrowawayServices({ say });
  try {
    const env = {
      ...process.env,
      TEST_DATABASE_URL: TEST_DATABASE_URL || services?.databaseUrl,
      TEST_REDIS_URL: TEST_REDIS_URL || services?.redisUrl,
      TEST_REDIS_BIN: services?.redisBinary ?? findRedisBinary(say),
      // The migrated database that those of the tests are copies of: test/support/migrated-database.ts.
      TEST_TEMPLATE: template,
    };
    const results = TEST_RESULTS ? ['--json', `--outputFile=${TEST_RESULTS}`] : [];
    const args = [JEST, ...results, ...process.argv.slice(2)];
    const { code } = await runCommand(process.execPath, args, { cwd: projectFolder, env, signal });
    return code;
  } finally {
    await services?.stop();
    if (TEST_DATABASE_URL) await dropDatabase(template);
  }
});

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
