// A registry that has no packages for other platforms leaves them out of package-lock.json, and
// then `npm ci` refuses the lock file everywhere. Run this after such a registry made the lock: it
// adds what the packages themselves name, for one platform each, at the exact version they name.
// Their hashes are not known here; npm adds them where the packages are.
import { readFileSync, writeFileSync } from 'node:fs';

/** @typedef {{ version: string, optional?: boolean, dev?: boolean, cpu?: string[], os?: string[], libc?: string[], optionalDependencies?: Record<string, string> }} Locked */

const SYSTEMS = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32'];
const PROCESSORS = [
  'arm',
  'arm64',
  'ia32',
  'loong64',
  'ppc64',
  'riscv64',
  's390x',
  'wasm32',
  'x64',
];
const EXACT = /^\d+\.\d+\.\d+(-[\w.]+)?$/;

const file = process.argv[2] ?? 'package-lock.json';
/** @type {{ packages: Record<string, Locked> }} */
const lock = JSON.parse(readFileSync(file, 'utf8'));
const { packages } = lock;

const added = [];
for (const [path, { dev, optionalDependencies = {} }] of Object.entries({ ...packages })) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    if (isLocked(path, name)) continue;
    const platform = platformOf(name);
    if (!EXACT.test(version) || !platform) {
      throw new Error(`${path} names ${name}@${version}, which is not for one platform`);
    }
    packages[`node_modules/${name}`] = {
      version,
      ...platform,
      ...(dev && { dev }),
      optional: true,
    };
    added.push(name);
  }
}
const inOrder = Object.entries(packages).sort(([a], [b]) => a.localeCompare(b, 'en'));
lock.packages = Object.fromEntries(inOrder);
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
console.log(added.length > 0 ? `Added ${added.join(', ')}` : 'Nothing was missing');

/**
 * Where Node looks for it: beside the package, then in each folder above.
 * @param {string} path
 * @param {string} name
 */
function isLocked(path, name) {
  for (let folder = path; ;) {
    if (packages[`${folder && `${folder}/`}node_modules/${name}`]) return true;
    if (folder === '') return false;
    folder = folder.slice(0, Math.max(folder.lastIndexOf('/node_modules/'), 0));
  }
}

/** @param {string} name such as @swc/core-linux-arm64-musl */
function platformOf(name) {
  const words = name.split(/[-/]/);
  const os = SYSTEMS.filter((system) => words.includes(system));
  const cpu = PROCESSORS.filter((processor) => words.includes(processor));
  if (cpu.length !== 1 || (os.length !== 1 && cpu[0] !== 'wasm32')) return null;
  const libc = words.some((word) => word.startsWith('musl'))
    ? ['musl']
    : os[0] === 'linux' && words.some((word) => word.startsWith('gnu'))
      ? ['glibc']
      : [];
  return { cpu, ...(libc.length > 0 && { libc }), ...(os.length > 0 && { os }) };
}
