// Loads packages as Node does, once for all test files of a process: ADR 49.
const { createRequire, isBuiltin } = require('node:module');
const vm = require('node:vm');
const { default: JestRuntime } = require('jest-runtime');

const { USE_MAIN_CONTEXT_DEFAULT_LOADER } = vm.constants;

/**
 * What a source asks for by a name is a package; sources and what Jest provides are Jest's.
 * @param {string | undefined} name
 * @returns {name is string}
 */
const isPackage = (name) =>
  name !== undefined && !/^[./]/.test(name) && !isBuiltin(name) && name !== '@jest/globals';

/**
 * The function that a source becomes, compiled once a process: what it makes when a test file calls it is that
 * file's alone.
 * @type {Map<string, { source: string, run: Function }>}
 */
const compiled = new Map();

class Runtime extends JestRuntime {
  /** @param {ConstructorParameters<typeof JestRuntime>} args */
  constructor(...args) {
    super(...args);
    // In the realm of the packages, where an Error of theirs is an Error of ours; Jest has no option for it.
    const { executor } = /** @type {any} */ (this).cjsLoader;
    if (typeof executor?.compile !== 'function') {
      throw new Error('This version of Jest compiles in another way: see test/runner/runtime.cjs');
    }
    // What is compiled before V8 counts is counted by whole functions.
    const isCounted = args[5].collectCoverage;
    executor.compile = (/** @type {string} */ source, /** @type {string} */ filename) => {
      const before = compiled.get(filename);
      if (before?.source === source && !isCounted) return before.run;
      const run = vm.compileFunction(source, executor.injectedModuleParameters, {
        filename,
        importModuleDynamically: USE_MAIN_CONTEXT_DEFAULT_LOADER,
      });
      compiled.set(filename, { source, run });
      return run;
    };
  }

  /**
   * @override
   * @template T
   * @param {string} from
   * @param {string} [name]
   * @param {{ isInternalModule?: boolean }} [options]
   * @param {boolean} [isRequireActual]
   * @returns {T}
   */
  requireModule(from, name, options, isRequireActual) {
    if (isPackage(name) && !options?.isInternalModule) return createRequire(from)(name);
    return super.requireModule(from, name, /** @type {any} */ (options), isRequireActual);
  }
}

module.exports = Runtime;
