// Lets a plain Node process of a test load the TypeScript sources: node -r ./test/support/swc-register.cjs
const { readFileSync } = require('node:fs');
const { transformSync } = require('@swc/core');

/** @param {{ _compile(code: string, filename: string): void }} module */
function load(module, /** @type {string} */ filename, /** @type {string} */ source) {
  const { code } = transformSync(source, { filename, sourceMaps: 'inline' });
  module._compile(code, filename);
}

require.extensions['.ts'] = (module, filename) =>
  load(module, filename, readFileSync(filename, 'utf8'));

module.exports = { load };
