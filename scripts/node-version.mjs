// Which Node is needed. An older one reads this, so that it uses nothing that is new.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Throws where this Node is older than `engines` of package.json says. */
export function refuseOldNode() {
  const file = fileURLToPath(new URL('../package.json', import.meta.url));
  const needed = JSON.parse(readFileSync(file, 'utf8')).engines.node.replace('>=', '');
  const [major, minor] = numbersOf(process.versions.node);
  const [neededMajor, neededMinor] = numbersOf(needed);
  if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) return;
  throw new Error(
    `Node ${needed} or newer is needed, and this is ${process.versions.node}: ` +
      'install it (nodejs.org), and run this again',
  );
}

/** @param {string} version @returns {[number, number]} its first two numbers */
function numbersOf(version) {
  const [major, minor] = version.split('.');
  return [Number(major), Number(minor)];
}
