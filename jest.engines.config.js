// npm run test:engines: what needs a server of others, that `npm test` does without.
/** @type {import('jest').Config} */
module.exports = {
  ...require('./jest.config'),
  testMatch: ['<rootDir>/{libs,test}/**/*.engine.ts'],
  // Servers are killed and started again, some of which take half a minute on a busy machine.
  testTimeout: 180_000,
};
