// Loads the TypeScript sources, with one of the seeded bugs in them if RACES_MUTATION names it.
const { readFileSync } = require('node:fs');
const { load } = require('../support/swc-register.cjs');
const { mutated, mutationName, pending } = require('./mutated.cjs');

require.extensions['.ts'] = (/** @type {NodeJS.Module} */ module, /** @type {string} */ filename) =>
  load(module, filename, mutated(filename, readFileSync(filename, 'utf8')));

// A seeded bug that was not planted would look like one that is not found.
process.on('exit', () => {
  if (pending.size === 0) return;
  console.error(
    `Mutation "${mutationName}" was not applied to ${[...pending].map(({ file }) => file)}`,
  );
  process.exitCode = 1;
});
