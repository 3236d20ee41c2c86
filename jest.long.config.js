// npm run test:long: the tests that take a minute, apart from the others.
/** @type {import('jest').Config} */
module.exports = {
  ...require('./jest.config'),
  testMatch: ['<rootDir>/{libs,scripts,test}/**/*.long.ts'],
  // Many judge what Postgres reads, which hangs on what neighbours keep it from forgetting.
  maxWorkers: 2,
};
