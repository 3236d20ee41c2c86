// The sources with the seeded bug in them that RACES_MUTATION names, if it names one.
const { join, relative } = require('node:path');
const { MUTATIONS } = require('./mutations.cjs');

const name = process.env.RACES_MUTATION;
const mutation = MUTATIONS.find((one) => one.name === name);
if (name && !mutation) throw new Error(`There is no mutation "${name}"`);

const root = join(__dirname, '..', '..');
const edits = mutation ? mutation.edits : [];
const pending = new Set(edits);

/**
 * @param {string} filename
 * @param {string} source
 */
function mutated(filename, source) {
  let text = source;
  for (const edit of edits.filter(({ file }) => file === relative(root, filename))) {
    if (text.split(edit.find).length !== 2) {
      throw new Error(`Mutation "${name}": not once in ${edit.file}: ${edit.find}`);
    }
    text = text.replace(edit.find, () => edit.replace);
    pending.delete(edit);
  }
  return text;
}

module.exports = { mutated, mutationName: name, pending };
