// Runs a command beside a throw-away Postgres and Redis:
//   node scripts/with-services.mjs [--durable] -- command argument...
// It finds them in DATABASE_URL and REDIS_URL (and the TEST_ names that the tests read).
import { runCommand } from './run-command.mjs';
import { runScript } from './run-script.mjs';
import { startThrowawayServices } from './services/index.mjs';
import { setUp } from './set-up.mjs';

const separator = process.argv.indexOf('--');
const [command, ...args] = separator < 0 ? [] : process.argv.slice(separator + 1);
const flags = process.argv.slice(2, separator < 0 ? undefined : separator);
if (!command || flags.some((flag) => flag !== '--durable')) {
  console.error('usage: node scripts/with-services.mjs [--durable] -- command argument...');
  process.exit(2);
}

await runScript(async ({ signal, say }) => {
  await setUp({ signal, say });
  const services = await startThrowawayServices({ durable: flags.includes('--durable'), say });
  try {
    const { databaseUrl, redisUrl, redisBinary } = services;
    const env = {
      ...process.env,
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl,
      TEST_DATABASE_URL: databaseUrl,
      TEST_REDIS_URL: redisUrl,
      TEST_REDIS_BIN: redisBinary,
    };
    return (await runCommand(command, args, { env, signal })).code;
  } finally {
    await services.stop();
  }
});
