// npm run test:engines: what needs a server of others, that `npm test` does without.
/** @type {import('jest').Config} */
module.exports = {
  ...require('./jest.config'),
  testMatch: ['<rootDir>/libs/**/*.engine.ts'],
};
