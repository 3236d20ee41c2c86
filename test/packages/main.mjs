// Installs the packages as shops would, into small hosts, and runs a slice in each:
//   npm run test:packages [-- --nodes]      (--nodes: also on the other versions of Node)
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { buildPackages } from '../../scripts/packages/build.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const project = join(here, '..', '..');
const TSC = createRequire(import.meta.url).resolve('typescript/bin/tsc');
const INSTALL = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
/** Pairs that meet every Nest, adapter and kind of module with every other. */
const HOSTS = [
  { nest: 'nest11', module: 'cjs', adapter: 'express' },
  { nest: 'nest11', module: 'mjs', adapter: 'fastify' },
  { nest: 'nest12', module: 'cjs', adapter: 'fastify' },
  { nest: 'nest12', module: 'mjs', adapter: 'express' },
];
const OTHER_NODES = ['node20', 'node22', 'node24', 'node26'];

const databaseUrl = process.env.TEST_DATABASE_URL ?? '';
const redisUrl = process.env.TEST_REDIS_URL ?? '';
const work = mkdtempSync(join(tmpdir(), 'lastcall-packages-'));

/** @param {string} command @param {string[]} args @param {{cwd?: string, env?: object}} [options] */
function run(command, args, { cwd = project, env = {} } = {}) {
  const given = { cwd, env: { ...process.env, ...env }, encoding: /** @type {const} */ ('utf8') };
  const { status, stdout, stderr } = spawnSync(command, args, given);
  if (status === 0) return stdout;
  throw new Error(`${command} ${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`);
}

/** @param {string} name @param {{tarball: string}[]} packages */
function install(name, packages) {
  const folder = join(work, name);
  mkdirSync(folder);
  for (const file of ['package.json', 'package-lock.json']) {
    copyFileSync(join(here, name, file), join(folder, file));
  }
  run('npm', ['ci', ...INSTALL], { cwd: folder });
  run('npm', ['install', '--no-save', ...INSTALL, ...packages.map(({ tarball }) => tarball)], {
    cwd: folder,
  });
  for (const kind of ['cts', 'mts']) {
    copyFileSync(join(here, 'shop', 'shop.ts'), join(folder, `shop.${kind}`));
  }
  const compilerOptions = {
    ...{ target: 'ES2023', module: 'node20', strict: true, skipLibCheck: true },
    ...{ experimentalDecorators: true, emitDecoratorMetadata: true, esModuleInterop: true },
    typeRoots: [join(project, 'node_modules/@types')],
    types: ['node'],
  };
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, include: ['shop.cts', 'shop.mts'] }),
  );
  run(process.execPath, [TSC, '-p', folder]);
  return folder;
}

/** @param {string} folder @param {string} node @param {typeof HOSTS[number]} host */
async function runSlice(folder, node, { module, adapter }) {
  const name = `host_${randomBytes(4).toString('hex')}`;
  const admin = new pg.Client(databaseUrl);
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  try {
    const env = { DATABASE_URL: url.href, REDIS_URL: redisUrl, ADAPTER: adapter };
    return run(node, ['--no-warnings', `shop.${module}`], { cwd: folder, env }).trim();
  } finally {
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await admin.end();
  }
}

/** The binaries of other versions, from the registry; where there are none it is said aloud. */
function otherNodes() {
  if (!process.argv.includes('--nodes')) {
    console.log('not checked: other versions of Node (-- --nodes installs and runs them)');
    return [];
  }
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    console.log(
      `not checked: other versions of Node (none for ${process.platform}-${process.arch})`,
    );
    return [];
  }
  cpSync(join(here, 'nodes'), join(work, 'nodes'), { recursive: true });
  run('npm', ['ci', ...INSTALL], { cwd: join(work, 'nodes') });
  return OTHER_NODES.map((name) => join(work, 'nodes', 'node_modules', name, 'bin', 'node'));
}

try {
  if (!databaseUrl) throw new Error('Run it by npm run test:packages: it needs Postgres and Redis');
  const packages = buildPackages();
  for (const { name, filename, entryCount } of packages) {
    console.log(`packed ${name}: ${filename}, ${entryCount} files`);
  }
  const folders = new Map(['nest11', 'nest12'].map((name) => [name, install(name, packages)]));
  const nodes = [process.execPath, ...otherNodes()];
  for (const node of nodes) {
    const version = run(node, ['--version']).trim();
    for (const host of node === process.execPath ? HOSTS : HOSTS.slice(0, 4)) {
      const held = await runSlice(folders.get(host.nest) ?? '', node, host);
      console.log(`${version} ${host.nest} ${host.module} ${host.adapter}: ${held}`);
    }
  }
  const cli = join(folders.get('nest12') ?? '', 'node_modules', '.bin', 'lastcall');
  console.log(`npx lastcall --version: ${run(cli, ['--version']).trim()}`);
} finally {
  rmSync(work, { recursive: true, force: true });
}
