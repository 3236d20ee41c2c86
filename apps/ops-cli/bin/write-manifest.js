'use strict';
// Writes down what commands and flags the build has, as the last step of a build: `lastcall` then
// loads the one command that it runs, and --help, --version and completion load none.
const { renameSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const oclif = require('@oclif/core');

oclif.settings.enableAutoTranspile = false;

async function writeManifest() {
  const plugin = new oclif.Plugin({
    root: __dirname,
    type: 'core',
    ignoreManifest: true,
    errorOnManifestCreate: true,
    respectNoCacheDefault: true,
  });
  await plugin.load();
  const file = join(plugin.root, 'oclif.manifest.json');
  // Put in place whole: a command may be starting.
  const unfinished = `${file}.${process.pid}`;
  writeFileSync(unfinished, JSON.stringify(plugin.manifest));
  renameSync(unfinished, file);
}

void writeManifest();
