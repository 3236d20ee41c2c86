// Runs an example as a shop that has installed the packages: npm run example -- trials
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../run-command.mjs';
import { runScript } from '../run-script.mjs';
import { buildPackages, OUT } from './build.mjs';
import { exampleFiles, installHost } from './install-host.mjs';

const project = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const [name = ''] = process.argv.slice(2);
const source = join(project, 'examples', name, 'main.ts');

await runScript(async ({ signal, say }) => {
  if (!/^[a-z-]+$/.test(name) || !existsSync(source)) {
    console.error('usage: npm run example -- NAME   (a folder of examples/)');
    return 2;
  }
  say('Building the packages and installing them as a shop would takes some minutes, each time');
  const packages = buildPackages((folder) => say(`Building the package ${folder}`));
  const folder = join(OUT, 'examples', name);
  installHost(folder, 'nest11', packages, exampleFiles(name), (step) => say(step));
  say(`Starting ${name}`);
  return (await runCommand(process.execPath, [join(folder, name, 'main.js')], { signal })).code;
});
