// npm run test:faults [-- --quick] [--only TEXT]... [--seed N]: builds into a folder of its own, so that
// sources edited meanwhile do no harm, and runs the fault suite on throw-away services.
import { rmSync } from 'node:fs';
import { runCommand } from '../../scripts/run-command.mjs';
import { runScript } from '../../scripts/run-script.mjs';
import { projectFolder } from '../../scripts/services/folders.mjs';
import { ensureInstalled } from '../../scripts/set-up.mjs';

const BUILT = 'dist.faults';
const SOURCES = ['apps', 'libs', 'test/support', 'test/faults'];

await runScript(async ({ signal, say }) => {
  const node = (/** @type {string[]} */ args) =>
    runCommand(process.execPath, args, { cwd: projectFolder, env: process.env, signal });
  await ensureInstalled({ signal, say });
  rmSync(`${projectFolder}/${BUILT}`, { recursive: true, force: true });
  const swc = 'node_modules/@swc/cli/bin/swc.js';
  const built = await node([swc, ...SOURCES, '-d', BUILT, '--copy-files', '--quiet']);
  const pages = await node(['scripts/build-web.mjs', `${BUILT}/dist/web`]);
  if (built.code !== 0 || pages.code !== 0) throw new Error('the build failed');
  const run = ['-r', './test/support/swc-register.cjs', 'test/faults/run.ts'];
  return (await node([...run, ...process.argv.slice(2)])).code;
});
