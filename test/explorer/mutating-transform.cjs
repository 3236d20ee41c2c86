// Jest's transform of the TypeScript sources, with the seeded bug that RACES_MUTATION names.
const { createTransformer } = require('@swc/jest');
const { mutated } = require('./mutated.cjs');

/** @type {any} */
const swc = createTransformer();

module.exports = {
  ...swc,
  process: (
    /** @type {string} */ source,
    /** @type {string} */ filename,
    /** @type {any} */ options,
  ) => swc.process(mutated(filename, source), filename, options),
  getCacheKey: (
    /** @type {string} */ source,
    /** @type {string} */ filename,
    /** @type {any} */ options,
  ) => swc.getCacheKey(mutated(filename, source), filename, options),
};
