// npm run test:answers: what the API answers in its end-to-end tests, held against its own document.
const config = require('./jest.config.js');

/** @type {import('jest').Config} */
module.exports = {
  ...config,
  testMatch: ['<rootDir>/test/{api,client,closing,money}/**/*.e2e.ts'],
  globalSetup: '<rootDir>/test/answers/set-up.ts',
  globalTeardown: '<rootDir>/test/answers/tear-down.ts',
};
