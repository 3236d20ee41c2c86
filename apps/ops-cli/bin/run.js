#!/usr/bin/env node
'use strict';
// The `lastcall` command. The sources are TypeScript: what runs is their build.
const { existsSync, readdirSync, statSync } = require('node:fs');
const { join, resolve } = require('node:path');

const projectFolder = resolve(__dirname, '..', '..', '..');
const built = join(projectFolder, 'dist', 'apps', 'ops-cli', 'src', 'run-to-its-end.js');

if (!existsSync(built)) {
  console.error('lastcall is not built yet.\nNext: npm run build   (npm start does it, too)');
  process.exit(1);
}
if (newestSourceMs() > statSync(built).mtimeMs) {
  console.error('note: sources are newer than the build; npm run build brings it up to date');
}

// Nest comes as ES modules, which Node 20 loads with a warning that is of no use to operators.
process.removeAllListeners('warning');

void require(built).runToItsEnd(__dirname);

/** Of the command's own sources: 0 where only the build was installed. */
function newestSourceMs() {
  const folder = join(projectFolder, 'apps', 'ops-cli', 'src');
  if (!existsSync(folder)) return 0;
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.spec.ts'),
  );
  const times = files.map(
    (file) => statSync(join(file.parentPath ?? file.path, file.name)).mtimeMs,
  );
  return Math.max(0, ...times);
}
