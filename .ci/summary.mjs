// Jest's results as one plain line. A file that did not even run has no tests to count: it counts
// as one failed.
import { readFileSync } from 'node:fs';

/** @type {{ numPassedTests: number, numFailedTests: number, numRuntimeErrorTestSuites: number }} */
const results = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));
const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
console.log(`${results.numPassedTests} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
