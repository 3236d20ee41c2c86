// The arrows of docs/architecture.md: apps -> libs/orders -> libs/timeout, never back.

/** @param {string} name @param {string} comment @param {object} from @param {object} to */
const forbid = (name, comment, from, to) => ({ name, severity: 'error', comment, from, to });

/** Files that stand beside the code to test it may use what the code may not. */
const TESTS = '\\.(spec|long)\\.ts$|\\.e2e\\.ts$|/testing/|\\.contract\\.ts$|-bench\\.ts$';

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    forbid(
      'timeout-knows-no-orders',
      'libs/timeout could be published alone (its specs may use the set-up of the tests)',
      { path: '^libs/timeout/', pathNot: '\\.(spec|long)\\.ts$' },
      { path: '^(apps|libs/orders|bench|test|scripts)/' },
    ),
    forbid(
      'orders-know-no-apps',
      'a library does not know who uses it (its specs may use the set-up of the tests)',
      { path: '^libs/orders/', pathNot: '\\.(spec|long)\\.ts$' },
      { path: '^(apps|bench|test|scripts)/' },
    ),
    forbid(
      'apps-stand-alone',
      'what two apps share belongs into a library',
      { path: '^apps/([^/]+)/' },
      { path: '^apps/', pathNot: '^apps/$1/' },
    ),
    forbid(
      'libraries-by-their-barrel',
      'what a library offers is what its index.ts exports',
      { path: '^(apps|bench|scripts|libs/([^/]+))/', pathNot: TESTS },
      { path: '^libs/[^/]+/src/', pathNot: '^libs/([^/]+/src/index\\.ts$|$2/)' },
    ),
    forbid(
      'apps-import-nothing-for-tests',
      'test set-up does not ship',
      { path: '^(apps|libs)/', pathNot: TESTS },
      { path: '^(test|bench)/|\\.(spec|long)\\.ts$|/testing/' },
    ),
    forbid(
      'bullmq-in-its-driver',
      'a timer driver is one folder',
      { path: '^(apps|libs)/', pathNot: `^libs/timeout/src/drivers/bullmq/|${TESTS}` },
      { path: 'node_modules/(bullmq|@nestjs/bullmq)/' },
    ),
    forbid(
      'redlock-in-one-file',
      'the lock is behind a port',
      { path: '^(apps|libs)/', pathNot: `^libs/timeout/src/locks/redlock\\.lock\\.ts$|${TESTS}` },
      { path: 'node_modules/(redlock|@sesamecare-oss/redlock)/' },
    ),
    forbid(
      'stripe-in-its-provider',
      'a payment provider is behind a port',
      { path: '^(apps|libs)/', pathNot: `stripe[^/]*\\.ts$|/stripe/|${TESTS}` },
      { path: 'node_modules/stripe/' },
    ),
    forbid('no-cycles', 'a cycle has no first part to understand', {}, { circular: true }),
    forbid(
      'no-orphans',
      'code that nothing reaches is not code',
      {
        orphan: true,
        path: '^(apps|libs)/',
        pathNot: `${TESTS}|\\.d\\.m?ts$|/main\\.ts$|/commands/|/migrations/`,
      },
      {},
    ),
    forbid('resolvable', 'an import that leads nowhere', {}, { couldNotResolve: true }),
    forbid(
      'no-dev-packages-in-production',
      'what ships finds its packages in dependencies',
      { path: '^(apps|libs)/', pathNot: TESTS },
      { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    ),
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    // A cycle of types is a cycle as well.
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^dist' },
    moduleSystems: ['cjs', 'es6'],
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      extensions: ['.ts', '.mts', '.mjs', '.cjs', '.js', '.json'],
      mainFields: ['main', 'types'],
    },
  },
};
