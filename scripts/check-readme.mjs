// npm run test:readme: starts the product as `npm start` does, and pastes the README's first order,
// as it stands there, into each shell that is installed. It has to end at "paid". Completion is
// tried where a shell can tell what it would complete.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectFolder } from './services/folders.mjs';

const START_LIMIT_MS = 180_000;
const SHELL_LIMIT_MS = 180_000;
/** As on a terminal, where zsh knows no comments; without anybody's own settings. */
const SHELLS = [
  { name: 'bash', args: ['--norc', '--noprofile', '-i', '-s'] },
  { name: 'zsh', args: ['-f', '-i', '-s'] },
  // It takes the same on a terminal as from an argument, and reads no script from a socket.
  { name: 'fish', args: ['--no-config', '-c'], isArgument: true },
];

const home = mkdtempSync(join(tmpdir(), 'lastcall-readme-'));
/** @type {NodeJS.ProcessEnv} */
const env = { ...process.env, LASTCALL_HOME: home, PORT: '0', SANDBOX_PORT: '0' };
for (const name of ['DATABASE_URL', 'REDIS_URL', 'AUTH_JWT_SECRET']) delete env[name];
const product = spawn(process.execPath, [join(projectFolder, 'scripts', 'start.mjs')], {
  cwd: projectFolder,
  env,
  stdio: ['ignore', 'pipe', 'inherit'],
});
const ended = once(product, 'exit');
try {
  await untilRunning();
  const failures = SHELLS.map(check).filter((failure) => failure !== null);
  for (const failure of failures) console.error(failure);
  process.exitCode = failures.length === 0 ? 0 : 1;
} finally {
  product.kill('SIGTERM');
  await ended;
  rmSync(home, { recursive: true, force: true });
}

async function untilRunning() {
  let said = '';
  const limit = setTimeout(() => product.kill('SIGTERM'), START_LIMIT_MS);
  for await (const chunk of product.stdout) {
    said += chunk;
    if (said.includes('lastcall is running')) break;
  }
  clearTimeout(limit);
  product.stdout.resume();
  if (!said.includes('lastcall is running')) throw new Error(`npm start did not start:\n${said}`);
}

/** The block, at the addresses that this run has got. */
function firstOrder() {
  const readme = readFileSync(join(projectFolder, 'README.md'), 'utf8');
  const block = /^## A first order$[^]*?^```sh\n([^]*?)^```$/m.exec(readme)?.[1];
  if (!block) throw new Error('the README has no first order');
  const runtime = JSON.parse(readFileSync(join(home, 'runtime.json'), 'utf8'));
  return block
    .replaceAll('http://127.0.0.1:3000', `http://127.0.0.1:${runtime.PORT}`)
    .replaceAll('http://127.0.0.1:3001', runtime.SANDBOX_URL);
}

/**
 * @param {{ name: string, args: string[], isArgument?: boolean }} shell
 * @returns {string | null} what was wrong
 */
function check({ name, args, isArgument = false }) {
  if (spawnSync(name, ['-c', 'true']).error) {
    console.log(`${name}: not checked, as it is not installed`);
    return null;
  }
  const options = /** @type {const} */ ({
    cwd: projectFolder,
    env: { ...env, HOME: home },
    encoding: 'utf8',
    timeout: SHELL_LIMIT_MS,
  });
  const block = firstOrder();
  const { stdout, stderr } = isArgument
    ? spawnSync(name, [...args, block], options)
    : spawnSync(name, args, { ...options, input: block });
  const last = stdout.trim().split('\n').at(-1);
  if (last !== '"paid"') return `${name}: the first order ended at ${last}\n${stdout}${stderr}`;
  if (name !== 'fish') {
    console.log(`${name}: the first order is "paid"`);
    return null;
  }
  const completing = `npx lastcall completion fish | source; complete -C 'lastcall orders list --status pai'`;
  const completed = spawnSync(name, ['--no-config', '-c', completing], options).stdout.trim();
  if (completed !== 'paid') return `${name}: completed "${completed}" instead of "paid"`;
  console.log(`${name}: the first order is "paid", and so is what completion finds`);
  return null;
}
