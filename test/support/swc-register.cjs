// Lets a plain Node process of a test load the TypeScript sources: node -r ./test/support/swc-register.cjs
const { readFileSync } = require('node:fs');
const { transformSync } = require('@swc/core');

/**
 * @param {NodeJS.Module} module
 * @param {string} filename
 * @param {string} source
 */
function load(module, filename, source) {
  const { code } = transformSync(source, { filename, sourceMaps: 'inline' });
  /** @type {any} */ (module)._compile(code, filename);
}

require.extensions['.ts'] = (/** @type {NodeJS.Module} */ module, /** @type {string} */ filename) =>
  load(module, filename, readFileSync(filename, 'utf8'));

module.exports = { load };
