// npm run audit: asks the registry for known vulnerabilities, and says in one line what came of it.
// Where the registry answers no audits nothing is known, and the line says so; so do the release
// notes (npm run release-notes).
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from './run-command.mjs';
import { runScript } from './run-script.mjs';
import { projectFolder } from './services/folders.mjs';

const NO_AUDITS = /audit endpoint returned an error|ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT/;

await runScript(async ({ signal }) => {
  const { code, output } = await runCommand(
    'npm',
    ['audit', '--audit-level=high', '--loglevel=notice'],
    { cwd: projectFolder, signal, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  signal.throwIfAborted();
  const isUnknown = code !== 0 && NO_AUDITS.test(output);
  const line = isUnknown
    ? 'NOT CHECKED: the package registry refuses audits, so nothing is known about known vulnerabilities'
    : code === 0
      ? `Checked for known vulnerabilities: ${output.trim().split('\n').pop()}`
      : `KNOWN VULNERABILITIES:\n${output.trim()}`;
  if (process.argv.includes('--release-notes')) console.log(newestChanges());
  console.log(line);
  return code === 0 || isUnknown ? 0 : 1;
});

function newestChanges() {
  const changelog = readFileSync(join(projectFolder, 'CHANGELOG.md'), 'utf8');
  const [, newest = ''] = changelog.split(/^(?=## )/m);
  return `${newest.trim()}\n\n### Supply chain\n`;
}
