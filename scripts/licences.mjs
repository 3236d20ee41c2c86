// npm run licences: every package that is locked, by licence; fails for one that nobody has
// agreed to. Read from package-lock.json, so that nothing has to be installed.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectFolder } from './services/folders.mjs';

/** Those that ask for no more than their text to be kept. */
const AGREED = new Set([
  ...['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'BlueOak-1.0.0'],
  ...['Python-2.0', 'Unlicense', 'CC0-1.0', 'Zlib'],
]);

/** Looked at one by one: what their package.json says, and why they are here all the same. */
const EXCEPTIONS = new Map([
  ['redlock UNLICENSED', 'its LICENSE file is the MIT licence of the project it was forked from'],
  ['axe-core MPL-2.0', 'unchanged, in tests of the pages only; not passed on'],
  ['caniuse-lite CC-BY-4.0', 'data that only the build tools read; not passed on'],
]);

/** @type {{ packages: Record<string, { license?: string, dev?: boolean }> }} */
const lock = JSON.parse(readFileSync(join(projectFolder, 'package-lock.json'), 'utf8'));
/** @type {Map<string, { used: Set<string>, forDevelopment: Set<string> }>} */
const byLicence = new Map();
const refused = [];
for (const [path, { license = 'none', dev }] of Object.entries(lock.packages)) {
  const name = path.split('node_modules/').pop() ?? '';
  if (!path.includes('node_modules/')) continue;
  const row = byLicence.get(license) ?? { used: new Set(), forDevelopment: new Set() };
  (dev ? row.forDevelopment : row.used).add(name);
  byLicence.set(license, row);
  if (!isAgreed(license) && !EXCEPTIONS.has(`${name} ${license}`)) {
    refused.push(`${name}: ${license}`);
  }
}

for (const [licence, { used, forDevelopment }] of [...byLicence].sort()) {
  console.log(`${licence}: ${used.size} used, ${forDevelopment.size} more for development`);
  if (process.argv.includes('--names')) console.log(`  ${[...used].sort().join(', ')}`);
}
for (const [name, why] of EXCEPTIONS) console.log(`exception: ${name}: ${why}`);
if (refused.length > 0) {
  console.error(`Not agreed to (scripts/licences.mjs):\n  ${refused.join('\n  ')}`);
  process.exitCode = 1;
}

/** "A AND B" asks for both, "A OR B" for one. @param {string} expression */
function isAgreed(expression) {
  const alternatives = expression.replace(/[()]/g, '').split(' OR ');
  return alternatives.some((all) => all.split(' AND ').every((licence) => AGREED.has(licence)));
}
