// npm run bench [-- --only NAME] [--orders N] [--rounds N] [--driver NAME] [--quick]:
// measures on throw-away services that flush to disk as in production. A run in full size writes its sections of
// docs/benchmarks.md and their charts.
import { join } from 'node:path';
import { runCommand } from './run-command.mjs';
import { runScript } from './run-script.mjs';
import { projectFolder } from './services/folders.mjs';
import { startThrowawayServices } from './services/index.mjs';
import { setUp } from './set-up.mjs';

const SWC = join('node_modules', '@swc', 'cli', 'bin', 'swc.js');
const MAIN = join('dist', 'bench', 'main.js');
const CHARTS = join('bench', 'charts.mjs');

const args = process.argv.slice(2);
const isFull = !args.some((arg) => /^--(quick|orders|rounds|driver)/.test(arg));
await runScript(async ({ signal, say }) => {
  await setUp({ signal, say });
  const how = { cwd: projectFolder, signal };
  const built = await runCommand(process.execPath, [SWC, 'bench', '-d', 'dist', '--quiet'], how);
  if (built.code !== 0) throw new Error('The benchmarks do not compile');
  const services = await startThrowawayServices({
    durable: true,
    // When a close was durable is told by its commit, not by the clock of who asked for it. Where timers
    // are compared a dozen programs run at once, each with its pools.
    postgresSettings: { track_commit_timestamp: 'on', max_connections: 400 },
    say,
  });
  try {
    const env = {
      ...process.env,
      DATABASE_URL: services.databaseUrl,
      REDIS_URL: services.redisUrl,
    };
    const write = isFull ? ['--write', 'docs'] : [];
    const { code } = await runCommand(process.execPath, [MAIN, ...args, ...write], { ...how, env });
    if (!isFull || code !== 0) return code;
  } finally {
    await services.stop();
  }
  return (await runCommand(process.execPath, [CHARTS], how)).code;
});
