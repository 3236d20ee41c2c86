// Versions and changelog, by changesets (RELEASING.md):
//   npm run release:version     takes the changes in .changeset into CHANGELOG.md, and counts the version on
//   npm run release:dry-run     does so to a copy with a change that was made up, and looks at what came of it
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './install-host.mjs';
import { installTools } from './tools.mjs';

const project = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
/** All have one version: that of the project, which is the command's. */
const LIBRARIES = ['libs/timeout', 'libs/orders', 'libs/client'];
const FILES = [
  ...[
    'package.json',
    'package-lock.json',
    'CHANGELOG.md',
    '.changeset',
    '.prettierrc',
    '.prettierignore',
  ],
  ...LIBRARIES.map((library) => `${library}/package.json`),
];

/** @param {string} file */
const read = (file) => JSON.parse(readFileSync(file, 'utf8'));
/** @param {string} file @param {object} content */
const write = (file, content) => writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`);

/** @param {string} folder @returns {string} the version that comes next */
function countOn(folder) {
  const { bin } = installTools();
  run(bin('changeset'), ['version'], { cwd: folder });
  const { version } = read(join(folder, 'package.json'));
  for (const library of LIBRARIES) {
    const file = join(folder, library, 'package.json');
    const { dependencies, ...manifest } = read(file);
    const ours = Object.keys(dependencies ?? {}).filter((name) => name.startsWith('@lastcall/'));
    for (const name of ours) dependencies[name] = version;
    write(file, { ...manifest, version, ...(dependencies ? { dependencies } : {}) });
  }
  const lockFile = join(folder, 'package-lock.json');
  const lock = read(lockFile);
  write(lockFile, {
    ...lock,
    version,
    packages: { ...lock.packages, '': { ...lock.packages[''], version } },
  });
  return version;
}

/** In a copy, with a change that was made up. @returns what it says */
function dryRun() {
  const folder = mkdtempSync(join(tmpdir(), 'lastcall-release-'));
  try {
    for (const file of FILES) cpSync(join(project, file), join(folder, file), { recursive: true });
    writeFileSync(
      join(folder, '.changeset/made-up.md'),
      '---\n"lastcall": minor\n---\n\nA made-up change.\n',
    );
    // Changesets tell by git what is new.
    const git = (/** @type {string[]} */ ...args) =>
      run('git', ['-c', 'user.name=dry', '-c', 'user.email=dry@run', ...args], { cwd: folder });
    git('init', '--quiet', '--initial-branch', 'main');
    git('add', '--all');
    git('commit', '--quiet', '--no-verify', '--message', 'dry run');
    const before = read(join(folder, 'package.json')).version;
    const version = countOn(folder);
    const [major, minor] = before.split('.').map(Number);
    if (version !== `${major}.${minor + 1}.0`) throw new Error(`${before} became ${version}`);
    for (const library of LIBRARIES) {
      const manifest = read(join(folder, library, 'package.json'));
      const timeout = manifest.dependencies?.['@lastcall/timeout'] ?? version;
      if (manifest.version !== version || timeout !== version)
        throw new Error(`${library} has stayed behind`);
    }
    const changelog = readFileSync(join(folder, 'CHANGELOG.md'), 'utf8');
    if (
      !changelog.startsWith(`# Changelog\n\n## ${version}\n`) ||
      !changelog.includes('A made-up change.')
    ) {
      throw new Error('CHANGELOG.md does not begin with the version and its change');
    }
    const { status } = spawnSync('git', ['diff', '--quiet', 'HEAD', '--', '.changeset'], {
      cwd: folder,
    });
    if (status !== 1) throw new Error('the made-up change waits to be released again');
    return `${before} would become ${version}, in ${LIBRARIES.length + 1} packages and CHANGELOG.md`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv.includes('--dry-run')) console.log(`release, dry run: ${dryRun()}`);
else {
  const before = read(join(project, 'package.json')).version;
  const version = countOn(project);
  if (version === before) throw new Error('.changeset has no changes: npm run change writes one');
  console.log(`${version}: look at CHANGELOG.md, then commit and tag v${version} (RELEASING.md)`);
}
