/** @type {import('jest').Config} */
module.exports = {
  runtime: '<rootDir>/test/runner/runtime.cjs',
  testEnvironment: '<rootDir>/test/runner/environment.cjs',
  // What the API has answered, held against its own document, once all of its tests have run.
  globalSetup: '<rootDir>/test/answers/set-up.ts',
  globalTeardown: '<rootDir>/test/answers/tear-down.ts',
  testMatch: [
    '<rootDir>/{apps,libs,scripts,bench,docker,test}/**/*.spec.ts',
    '<rootDir>/test/**/*.e2e.ts',
  ],
  modulePathIgnorePatterns: ['<rootDir>/dist'],
  transform: { '\\.m?[jt]s$': '@swc/jest' },
  // One more than CI has cores: tests wait for servers and processes for a quarter of their time. No more than
  // Redis has databases for (test/support/redis.ts).
  maxWorkers: 3,
  // Above the limits of what tests wait for (test/support/until.ts): they say what did not come.
  testTimeout: 60_000,
};
