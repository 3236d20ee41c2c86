// Builds the packages that shops install, each in a folder and a tarball of `dist.packages`.
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { undeclaredImports } from './undeclared-imports.mjs';

const project = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
export const OUT = join(project, 'dist.packages');
const TSC = createRequire(import.meta.url).resolve('typescript/bin/tsc');

/** The names that the sources use of each other, and what they are once installed. */
const SHIPPED_NAMES = {
  '@app/timeout': '@lastcall/timeout/internal',
  '@app/timeout/module': '@lastcall/timeout/internal/module',
  '@app/orders': '@lastcall/orders',
  '@app/orders/http': '@lastcall/orders/http',
  '@app/orders/look': '@lastcall/orders/look',
};

/** Files that are for our own tests and benchmarks. */
const NOT_SHIPPED = [
  '**/*.spec.ts',
  '**/*.long.ts',
  '**/*.e2e.ts',
  '**/*.engine.ts',
  '**/*-bench.ts',
  '**/testing/**',
  '**/drivers/*.contract.ts',
  '**/events/*.contract.ts',
  '**/locks/*.contract.ts',
];

/** Each may use those before it. */
export const PACKAGES = [
  { folder: 'timeout', source: 'libs/timeout', manifest: () => read('libs/timeout/package.json') },
  { folder: 'orders', source: 'libs/orders', manifest: () => read('libs/orders/package.json') },
  { folder: 'cli', source: 'apps/ops-cli', manifest: cliManifest },
];

/** @param {string} path */
function read(path) {
  return JSON.parse(readFileSync(join(project, path), 'utf8'));
}

/**
 * The command is described by the project's own package.json, which has its name, too. What the libraries
 * cannot be without is the host's here as well: beside a second Nest theirs would find nothing. What a host
 * may leave out comes with the command, which looks into hosts of every kind.
 */
function cliManifest() {
  const { name, version, description, license, engines, oclif, dependencies } =
    read('package.json');
  const { peerDependencies, peerDependenciesMeta } = read('libs/orders/package.json');
  const used = ['@oclif/core', 'cli-progress', 'cli-table3', 'csv-parse', 'jose', 'string-width'];
  const peers = Object.entries(peerDependencies);
  const isOptional = (/** @type {[string, unknown]} */ [peer]) => peer in peerDependenciesMeta;
  return {
    ...{ name, version, description: `The command of ${name}: ${description}`, license, engines },
    type: 'commonjs',
    bin: { lastcall: './bin/run.js' },
    files: ['bin/run.js', 'lib'],
    exports: { './package.json': './package.json' },
    oclif: {
      ...oclif,
      commands: './lib/commands',
      hooks: { command_not_found: './lib/hooks/command-not-found' },
    },
    dependencies: {
      '@lastcall/orders': version,
      '@lastcall/timeout': version,
      ...Object.fromEntries(used.map((one) => [one, dependencies[one]])),
      ...Object.fromEntries(peers.filter(isOptional)),
    },
    peerDependencies: Object.fromEntries(peers.filter((peer) => !isOptional(peer))),
  };
}

/** @param {string} command @param {string[]} args @param {string} [cwd] */
function run(command, args, cwd = project) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (error) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`);
  return stdout;
}

/** @param {string} folder @returns {string[]} */
function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

/** @param {string} file */
const isCode = (file) => /\.(d\.ts|js)$/.test(file);

/** @param {typeof PACKAGES[number]} one */
function build({ folder, source, manifest }) {
  const target = join(OUT, folder);
  const sources = join(project, source, 'src');
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const built = (/** @type {string} */ name, file = 'index') => [
    join(OUT, name, 'lib', `${file}.d.ts`),
  ];
  const configFile = join(OUT, `tsconfig.${folder}.json`);
  writeFileSync(
    configFile,
    JSON.stringify({
      extends: join(project, 'tsconfig.json'),
      compilerOptions: {
        ...{ noEmit: false, allowJs: false, checkJs: false, incremental: false },
        // The command is for nobody to import.
        declaration: folder !== 'cli',
        ...{ sourceMap: true, inlineSources: true },
        // Types are checked with the sources; what declares none of its own is said by inference.
        noCheck: true,
        tsBuildInfoFile: null,
        rootDir: sources,
        outDir: join(target, 'lib'),
        types: ['node'],
        typeRoots: [join(project, 'node_modules/@types')],
        paths: {
          '@app/timeout': built('timeout'),
          '@app/timeout/module': built('timeout', 'module'),
          '@app/orders': built('orders'),
          '@app/orders/look': built('orders', 'look'),
        },
      },
      include: [join(sources, '**/*.ts')],
      exclude: NOT_SHIPPED.map((pattern) => join(sources, pattern)),
    }),
  );
  run(process.execPath, [TSC, '-p', configFile]);
  for (const file of filesBelow(sources).filter((path) => path.endsWith('.sql'))) {
    copyFileSync(file, join(target, 'lib', relative(sources, file)));
  }
  for (const file of filesBelow(join(target, 'lib')).filter(isCode)) {
    const text = readFileSync(file, 'utf8');
    const shipped = Object.entries(SHIPPED_NAMES).reduce(
      (so, [ours, theirs]) =>
        so.replaceAll(`"${ours}"`, `"${theirs}"`).replaceAll(`'${ours}'`, `'${theirs}'`),
      text,
    );
    if (shipped.includes('@app/')) throw new Error(`${file} names a path of this project: @app/`);
    if (shipped !== text) writeFileSync(file, shipped);
  }
  if (folder === 'cli') {
    mkdirSync(join(target, 'bin'));
    copyFileSync(join(project, 'scripts/packages/cli-bin.cjs'), join(target, 'bin', 'run.js'));
  }
  const described = manifest();
  const undeclared = undeclaredImports(target, filesBelow(target).filter(isCode), described);
  if (undeclared.length > 0) {
    const { name } = described;
    throw new Error(
      `${name} imports what its package.json does not name: ${undeclared.join(', ')}`,
    );
  }
  writeFileSync(join(target, 'package.json'), `${JSON.stringify(described, null, 2)}\n`);
  copyFileSync(join(project, 'LICENSE'), join(target, 'LICENSE'));
  const readme = join(project, source, 'README.md');
  if (existsSync(readme)) copyFileSync(readme, join(target, 'README.md'));
}

/**
 * Builds them all; answers with the tarballs' paths.
 * @param {(folder: string) => void} [tell] which one is being built
 */
export function buildPackages(tell = () => undefined) {
  mkdirSync(OUT, { recursive: true });
  for (const file of readdirSync(OUT)) if (file.endsWith('.tgz')) rmSync(join(OUT, file));
  return PACKAGES.map((one) => {
    tell(one.folder);
    build(one);
    const [packed] = JSON.parse(
      run('npm', ['pack', '--json', '--pack-destination', OUT], join(OUT, one.folder)),
    );
    return { folder: join(OUT, one.folder), tarball: join(OUT, packed.filename), ...packed };
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { name, version, filename, size, entryCount } of buildPackages()) {
    console.log(
      `${name} ${version}: ${filename}, ${entryCount} files, ${Math.round(size / 1024)} kB`,
    );
  }
}
