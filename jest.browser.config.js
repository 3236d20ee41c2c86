// npm run test:browser: the pages, in a real Chromium.
/** @type {import('jest').Config} */
module.exports = {
  ...require('./jest.config'),
  testMatch: ['<rootDir>/test/browser/*.browser.ts'],
  // One browser at a time: each is several processes.
  maxWorkers: 1,
  // Above the limit of what has to appear (test/browser/browser.ts).
  testTimeout: 180_000,
  // Each file tells what it took: alone on a machine of two cores all of them have a minute and a half.
  slowTestThreshold: 0,
};
