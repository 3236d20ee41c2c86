// npm run test:readme: starts the product as `npm start` does, and pastes the README's first order,
// as it stands there, into each shell that is installed. It has to end at "paid". Completion is
// tried where a shell can tell what it would complete.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from './run-command.mjs';
import { runScript } from './run-script.mjs';
import { projectFolder } from './services/folders.mjs';

const START_LIMIT_MS = 180_000;
const SHELL_LIMIT_MS = 180_000;
/** As on a terminal, where zsh knows no comments; without anybody's own settings. */
const SHELLS = [
  { name: 'bash', args: ['--norc', '--noprofile', '-i', '-s'] },
  { name: 'zsh', args: ['-f', '-i', '-s'] },
  // It takes the same on a terminal as from an argument.
  { name: 'fish', args: ['--no-config', '-c'], isArgument: true },
];

await runScript(async ({ signal }) => {
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
  const stop = () => product.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  try {
    await untilRunning(product);
    const shop = { home, env: { ...env, HOME: home }, signal };
    const failures = [];
    for (const shell of SHELLS) failures.push(...(await check(shell, shop)));
    for (const failure of failures) console.error(failure);
    return failures.length === 0 ? 0 : 1;
  } finally {
    stop();
    await ended;
    rmSync(home, { recursive: true, force: true });
  }
});

/** @param {import('node:child_process').ChildProcessByStdio<null, import('node:stream').Readable, null>} product */
async function untilRunning(product) {
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

/** The block, at the addresses that this run has got. @param {string} home */
function firstOrder(home) {
  const readme = readFileSync(join(projectFolder, 'README.md'), 'utf8');
  const block = /^## A first order$[^]*?^```sh\n([^]*?)^```$/m.exec(readme)?.[1];
  if (!block) throw new Error('the README has no first order');
  const runtime = JSON.parse(readFileSync(join(home, 'runtime.json'), 'utf8'));
  return block
    .replaceAll('http://127.0.0.1:3000', `http://127.0.0.1:${runtime.PORT}`)
    .replaceAll('http://127.0.0.1:3001', runtime.SANDBOX_URL);
}

/** @typedef {{ home: string, env: NodeJS.ProcessEnv, signal: AbortSignal }} Shop */

/**
 * @param {{ name: string, args: string[], isArgument?: boolean }} shell
 * @param {Shop} shop
 * @returns {Promise<string[]>} what was wrong
 */
async function check({ name, args, isArgument = false }, shop) {
  if (spawnSync(name, ['-c', 'true']).error) {
    console.log(`${name}: not checked, as it is not installed`);
    return [];
  }
  const block = firstOrder(shop.home);
  const { stdout, stderr } = isArgument
    ? await runShell(name, [...args, block], '', shop)
    : await runShell(name, args, block, shop);
  const last = stdout.trim().split('\n').at(-1);
  if (last !== '"paid"') return [`${name}: the first order ended at ${last}\n${stdout}${stderr}`];
  if (name !== 'fish') {
    console.log(`${name}: the first order is "paid"`);
    return [];
  }
  const completing = `npx lastcall completion fish | source; complete -C 'lastcall orders list --status pai'`;
  const completed = (await runShell(name, ['--no-config', '-c', completing], '', shop)).stdout;
  if (completed.trim() !== 'paid') return [`${name}: completed "${completed}" instead of "paid"`];
  console.log(`${name}: the first order is "paid", and so is what completion finds`);
  return [];
}

/**
 * @param {string} name
 * @param {string[]} args
 * @param {string} input
 * @param {Shop} shop
 */
async function runShell(name, args, input, { home, env, signal }) {
  const [given, complaints] = [join(home, `${name}.in`), join(home, `${name}.err`)];
  writeFileSync(given, input);
  const files = [openSync(given, 'r'), openSync(complaints, 'w')];
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort('SIGTERM'), SHELL_LIMIT_MS);
  try {
    const { output: stdout } = await runCommand(name, args, {
      cwd: projectFolder,
      env,
      signal: AbortSignal.any([signal, limit.signal]),
      stdio: [files[0], 'pipe', files[1]],
    });
    return { stdout, stderr: readFileSync(complaints, 'utf8') };
  } finally {
    clearTimeout(timer);
    for (const file of files) closeSync(file);
  }
}
