// The globals of the process itself, for all of its test files: ADR 49. None may leave a mark on the next.
const { AsyncLocalStorage } = require('node:async_hooks');
const { ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');
const os = require('node:os');
const { Client } = require('pg');

// Where this worker of Jest's has servers of its own: scripts/test.mjs.
for (const name of ['TEST_DATABASE_URL', 'TEST_REDIS_URL']) {
  const own = process.env[`${name}_${process.env.JEST_WORKER_ID}`];
  if (own) process.env[name] = own;
}

/**
 * Entered by this file. Jest has one of its own for each file, and leaves it on: every promise of the files
 * after it would carry it along (node:async_hooks, before Node 24).
 * @type {Set<AsyncLocalStorage<unknown>>}
 */
const storages = new Set();
const { run } = AsyncLocalStorage.prototype;
AsyncLocalStorage.prototype.run = function (/** @type {[any, any, ...any[]]} */ ...args) {
  storages.add(this);
  return run.apply(this, args);
};

/**
 * @typedef {import('@jest/environment').JestEnvironment} JestEnvironment
 * @implements {JestEnvironment}
 */
class Environment {
  global = /** @type {JestEnvironment['global']} */ (/** @type {unknown} */ (globalThis));
  fakeTimers = null;
  moduleMocker = new ModuleMocker(globalThis);
  #before = traces();
  #hasRun = false;

  /** @param {import('@jest/environment').JestEnvironmentConfig} config */
  constructor({ projectConfig }) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  async setup() {}

  /** @param {{ readonly name: string }} event */
  handleTestEvent({ name }) {
    if (name === 'run_finish') this.#hasRun = true;
  }

  async teardown() {
    this.fakeTimersModern.dispose();
    // One of a package is on again as soon as it is entered.
    for (const storage of storages) storage.disable();
    storages.clear();
    // What a file could not be loaded for is told first.
    if (this.#hasRun) this.refuseMarks();
  }

  refuseMarks() {
    const after = traces();
    const names = new Set([...Object.keys(this.#before), ...Object.keys(after)]);
    const left = [...names].filter((name) => after[name] !== this.#before[name]);
    if (left.length > 0)
      throw new Error(`Changed for the test files after this one: ${left.join(', ')}`);
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  getVmContext() {
    return globalThis;
  }
}

const HEARD = [
  'SIGINT',
  'SIGTERM',
  'SIGHUP',
  'uncaughtException',
  'unhandledRejection',
  'warning',
  'message',
];

/**
 * What a test can change of its process. Other globals are not among it: packages set theirs when they are loaded.
 * @returns {Record<string, unknown>}
 */
function traces() {
  return {
    'process.cwd()': process.cwd(),
    'process.exitCode': process.exitCode,
    'process.umask()': process.umask(),
    setTimeout: globalThis.setTimeout,
    setInterval: globalThis.setInterval,
    'performance.now': performance.now,
    'os.uptime': os.uptime,
    'pg.Client.query': Client.prototype.query,
    'pg.Client.connect': Client.prototype.connect,
    ...Object.fromEntries(
      HEARD.map((event) => [`listeners of ${event}`, process.listenerCount(event)]),
    ),
    ...Object.fromEntries(
      Object.entries(process.env).map(([name, value]) => [`process.env.${name}`, value]),
    ),
  };
}

module.exports = Environment;
