// What kills the seeded bugs that a test of their own kills: see mutations.cjs.
/** @type {import('jest').Config} */
module.exports = {
  ...require('../../jest.config'),
  rootDir: '../..',
  testEnvironment: '<rootDir>/test/explorer/mutated-environment.cjs',
  testMatch: ['<rootDir>/{apps,libs,test}/**/*.{spec,e2e,long}.ts'],
  transform: { '\\.m?[jt]s$': '<rootDir>/test/explorer/mutating-transform.cjs' },
};
