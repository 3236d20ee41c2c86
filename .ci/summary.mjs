// Jest's results, of all runs, as one plain line. A file that did not even run has no tests to
// count: it counts as one failed.
import { readFileSync } from 'node:fs';

/** @typedef {{ numPassedTests: number, numFailedTests: number, numRuntimeErrorTestSuites: number }} Results */
let [passed, failed] = [0, 0];
for (const file of process.argv.slice(2)) {
  /** @type {Results} */
  const results = JSON.parse(readFileSync(file, 'utf8'));
  passed += results.numPassedTests;
  failed += results.numFailedTests + results.numRuntimeErrorTestSuites;
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
