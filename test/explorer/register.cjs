// Loads the TypeScript sources, with one of the seeded bugs in them if RACES_MUTATION names it.
const { readFileSync } = require('node:fs');
const { join, relative } = require('node:path');
const { load } = require('../support/swc-register.cjs');
const { MUTATIONS } = require('./mutations.cjs');

const name = process.env.RACES_MUTATION;
const mutation = MUTATIONS.find((one) => one.name === name);
if (name && !mutation) throw new Error(`There is no mutation "${name}"`);

const root = join(__dirname, '..', '..');
const edits = mutation ? mutation.edits : [];
const pending = new Set(edits);

require.extensions['.ts'] = (
  /** @type {NodeJS.Module} */ module,
  /** @type {string} */ filename,
) => {
  let source = readFileSync(filename, 'utf8');
  for (const edit of edits.filter(({ file }) => file === relative(root, filename))) {
    if (source.split(edit.find).length !== 2) {
      throw new Error(`Mutation "${name}": not once in ${edit.file}: ${edit.find}`);
    }
    source = source.replace(edit.find, () => edit.replace);
    pending.delete(edit);
  }
  load(module, filename, source);
};

// A seeded bug that was not planted would look like one that is not found.
process.on('exit', () => {
  if (pending.size === 0) return;
  console.error(`Mutation "${name}" was not applied to ${[...pending].map(({ file }) => file)}`);
  process.exitCode = 1;
});
