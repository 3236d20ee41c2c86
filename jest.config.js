// Nest 12 and what it builds on come as ES modules only, which Jest cannot load before Node 24.9:
// these packages are compiled to CommonJS like our own sources.
const compiledPackages = [
  '@nestjs',
  '@borewit',
  '@tokenizer',
  'content-disposition',
  'cookie',
  'file-type',
  'jose',
  'strtok3',
  'token-types',
  'uint8array-extras',
];

/** @type {import('jest').Config} */
module.exports = {
  testEnvironment: 'node',
  testMatch: [
    '<rootDir>/{apps,libs,scripts,bench,docker,test}/**/*.spec.ts',
    '<rootDir>/test/**/*.e2e.ts',
  ],
  modulePathIgnorePatterns: ['<rootDir>/dist'],
  transform: { '\\.m?[jt]s$': '@swc/jest' },
  transformIgnorePatterns: [`/node_modules/(?!(${compiledPackages.join('|')})/)`],
  // Real Postgres and Redis run beside the tests, on two cores.
  maxWorkers: 2,
  // Above the limits of what tests wait for (test/support/until.ts): they say what did not come.
  testTimeout: 60_000,
};
