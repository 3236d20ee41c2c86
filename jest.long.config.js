// npm run test:long: the tests that take a minute, apart from the others.
/** @type {import('jest').Config} */
module.exports = {
  ...require('./jest.config'),
  testMatch: ['<rootDir>/{libs,scripts,test}/**/*.long.ts'],
  // Each has servers of its own: scripts/test.mjs. Tests wait half of their time.
  maxWorkers: 3,
};
