/** @type {import('jest').Config} */
module.exports = {
  runtime: '<rootDir>/test/runner/runtime.cjs',
  testEnvironment: '<rootDir>/test/runner/environment.cjs',
  testMatch: [
    '<rootDir>/{apps,libs,scripts,bench,docker,test}/**/*.spec.ts',
    '<rootDir>/test/**/*.e2e.ts',
  ],
  modulePathIgnorePatterns: ['<rootDir>/dist'],
  transform: { '\\.m?[jt]s$': '@swc/jest' },
  // One more than CI has cores: tests wait for Postgres, Redis and processes of their own for a quarter of their time.
  maxWorkers: 3,
  // Above the limits of what tests wait for (test/support/until.ts): they say what did not come.
  testTimeout: 60_000,
};
