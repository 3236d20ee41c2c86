// How long does `lastcall` take to start? Prints the median and the slowest of ten runs:
//   node bench/cli-start.mjs                                        --help alone
//   node scripts/with-services.mjs -- node bench/cli-start.mjs      and one command on a database
// ITERATIONS=1 for a look that it still runs.
import { execFileSync, spawnSync } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';

const projectFolder = fileURLToPath(new URL('..', import.meta.url));
const runs = Number(process.env.ITERATIONS ?? 10);
const env = {
  ...process.env,
  AUTH_JWT_SECRET: 'only-for-measuring-how-long-it-takes',
  SANDBOX_WEBHOOK_SECRET: 'whsec_YS13ZWJob29rLXNlY3JldC1mb3ItdGVzdHM=',
};

measure('lastcall --help', ['--help']);
if (process.env.DATABASE_URL && process.env.REDIS_URL) {
  const migrate = ['dist/apps/api/src/migrate.js'];
  execFileSync(process.execPath, migrate, { cwd: projectFolder, env, stdio: 'ignore' });
  measure('lastcall orders list', ['orders', 'list']);
}

/** @param {string} name @param {string[]} args */
function measure(name, args) {
  const timesMs = Array.from({ length: runs }, () => {
    const startedMs = performance.now();
    const options = { cwd: projectFolder, env };
    const { status } = spawnSync(process.execPath, ['apps/ops-cli/bin/run.js', ...args], options);
    if (status !== 0) throw new Error(`${name} ended with ${status}`);
    return performance.now() - startedMs;
  }).sort((a, b) => a - b);
  const median = timesMs[Math.floor(runs / 2)] ?? 0;
  const slowest = timesMs.at(-1) ?? 0;
  console.log(
    `${name}: median ${median.toFixed(0)} ms, slowest ${slowest.toFixed(0)} ms of ${runs}`,
  );
}
