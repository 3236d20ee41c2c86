// Installs the packages as shops would, into small hosts, and runs a slice in each:
//   npm run test:packages [-- --nodes]      (--nodes: also on the other versions of Node)
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { documentApi } from '../../scripts/packages/api-docs.mjs';
import { reportApi, sayForgotten } from '../../scripts/packages/api-report.mjs';
import { buildPackages } from '../../scripts/packages/build.mjs';
import { exampleFiles, INSTALL, installHost, run } from '../../scripts/packages/install-host.mjs';
import { installTools } from '../../scripts/packages/tools.mjs';
import { runCommands } from './commands.mjs';
import { adoptingSnippets, readmeProgram } from './snippets.mjs';

const here = dirname(fileURLToPath(import.meta.url));
/** A program that runs on has done its part by then. */
const LIMIT_MS = 90_000;
/** Pairs that meet every Nest, adapter and kind of module with every other. */
const HOSTS = /** @type {const} */ ([
  { nest: 'nest11', module: 'cjs', adapter: 'express' },
  { nest: 'nest11', module: 'mjs', adapter: 'fastify' },
  { nest: 'nest12', module: 'cjs', adapter: 'fastify' },
  { nest: 'nest12', module: 'mjs', adapter: 'express' },
]);
const NESTS = /** @type {const} */ (['nest11', 'nest12']);
const EXAMPLES = ['trials', 'shop', 'own-orders'];
const OTHER_NODES = ['node20', 'node22', 'node24', 'node26'];

const databaseUrl = process.env.TEST_DATABASE_URL ?? '';
const redisUrl = process.env.TEST_REDIS_URL ?? '';
const work = mkdtempSync(join(tmpdir(), 'lastcall-packages-'));

/** @param {'nest11' | 'nest12'} name @param {{tarball: string}[]} packages */
function install(name, packages) {
  const folder = join(work, name);
  const shop = join(here, 'shop', 'shop.ts');
  const files = {
    ...{ 'shop.cts': shop, 'shop.mts': shop, 'readme.cts': readmeProgram(work) },
    'options.cts': join(here, 'shop', 'options.ts'),
    ...Object.assign({}, ...EXAMPLES.map(exampleFiles)),
    ...adoptingSnippets(work),
  };
  installHost(folder, name, packages, files);
  return folder;
}

/** @template T @param {(databaseUrl: string) => Promise<T> | T} use */
async function withDatabase(use) {
  const name = `host_${randomBytes(4).toString('hex')}`;
  const admin = new pg.Client(databaseUrl);
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  try {
    return await use(url.href);
  } finally {
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await admin.end();
  }
}

/** All that are connected hear what a Postgres says that is restarted. @param {string} databaseUrl */
async function endSessions(databaseUrl) {
  const admin = new pg.Client(databaseUrl);
  await admin.connect();
  const others = 'datname = current_database() AND pid <> pg_backend_pid()';
  await admin.query(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE ${others}`);
  await admin.end();
}

/** @param {string} folder @param {string} node @param {typeof HOSTS[number]} host */
function runSlice(folder, node, { module, adapter }) {
  return withDatabase((url) => {
    const env = { DATABASE_URL: url, REDIS_URL: redisUrl, ADAPTER: adapter };
    const told = run(node, ['--no-warnings', `shop.${module}`], { cwd: folder, env }).trim();
    runCommands(folder, node, env);
    return told;
  });
}

/**
 * Starts a program that runs on, and ends it when `done` says so of what it has printed.
 * @param {string} folder @param {string} file @param {Record<string, string>} env
 * @param {(printed: string) => Promise<boolean> | boolean} done
 */
async function runUntil(folder, file, env, done) {
  const child = spawn(process.execPath, ['--no-warnings', file], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data) => (printed += String(data)));
  }
  const gone = once(child, 'exit');
  try {
    for (const endMs = Date.now() + LIMIT_MS; !(await done(printed)); await pause(50)) {
      if (Date.now() > endMs || child.exitCode !== null) throw new Error(`${file}:\n${printed}`);
    }
  } finally {
    child.kill();
    await gone;
  }
}

/** @param {string} folder */
function runReadme(folder) {
  return withDatabase((url) =>
    runUntil(folder, 'readme.cjs', { DATABASE_URL: url }, (printed) =>
      printed.includes('ended: ann'),
    ),
  );
}

/** @param {string} folder */
function runTrials(folder) {
  return withDatabase((url) => {
    let begun = false;
    const env = { DATABASE_URL: url, PORT: '0', TRIAL_MS: '300' };
    return runUntil(folder, 'trials/main.js', env, async (printed) => {
      const [, address] = /trials on (\S+)/.exec(printed) ?? [];
      if (!address) return false;
      const trial = `${address}/trials/ann`;
      if (!begun) {
        begun = (await fetch(trial, { method: 'POST' })).ok;
        await endSessions(url);
      }
      const shown = /** @type {{ended_at: string | null}} */ (await (await fetch(trial)).json());
      return shown.ended_at !== null;
    });
  });
}

/**
 * Three orders of the last three pieces: one is paid at the till; one is left alone; one has a payment open when it
 * closes, which the buyer makes all the same, and gets back. @param {string} folder
 */
function runOwnOrders(folder) {
  return withDatabase((url) => {
    /** @type {string[]} */
    let tills = [];
    let isLate = false;
    const env = { DATABASE_URL: url, PORT: '0', PAY_WITHIN_MS: '10000' };
    return runUntil(folder, 'own-orders/main.js', env, async (printed) => {
      const [, address] = /orders on (\S+)/.exec(printed) ?? [];
      if (!address) return false;
      const call = async (/** @type {string} */ path, method = 'GET') =>
        /** @type {{state: number, left: number, paymentId: string, refunded: number}} */ (
          await (await fetch(`${address}/${path}`, { method })).json()
        );
      if (tills.length === 0) {
        for (let n = 0; n < 3; n++) await call('orders/tea', 'POST');
        const opened = await Promise.all([1, 2].map((id) => call(`orders/${id}/payments`, 'POST')));
        tills = opened.map(({ paymentId }) => `till/${paymentId}`);
        await call(tills[0] ?? '', 'POST');
        await endSessions(url);
      }
      const [paid, fenced, alone] = await Promise.all([1, 2, 3].map((id) => call(`orders/${id}`)));
      const isOver = paid?.state === 20 && fenced?.state === 90 && alone?.state === 90;
      if (!isOver || alone.left !== 2) return false;
      if (!isLate) await call(tills[1] ?? '', 'POST');
      isLate = true;
      const [kept, back] = await Promise.all(tills.map((till) => call(till)));
      return kept?.refunded === 0 && back?.refunded === 500;
    });
  });
}

/**
 * Two orders with a coupon each: one is paid at the till, and uses up its coupon; the other closes in the midst
 * of its payment, ends that at the till, and its coupon is free again. @param {string} folder
 */
function runShop(folder) {
  return withDatabase((url) => {
    /** @type {{id: string, till: string}[]} */
    const placed = [];
    const env = { DATABASE_URL: url, PORT: '0', PAY_WITHIN: '8s', GRACE: '500ms' };
    return runUntil(folder, 'shop/main.js', env, async (printed) => {
      const [, address] = /shop on (\S+)/.exec(printed) ?? [];
      if (!address) return false;
      const call = async (/** @type {string} */ path, method = 'GET', given = '', key = 'none') => {
        const headers = { cookie: 'sid=ann', 'content-type': 'application/json' };
        const sent = { ...(given ? { body: given } : {}), method };
        const all = { ...headers, 'idempotency-key': key };
        const answer = await fetch(new URL(path, address), { ...sent, headers: all });
        if (!answer.ok) throw new Error(`${method} ${path}: ${await answer.text()}`);
        /** @type {{id: string, checkoutUrl: string, status: string, order_id: string | null, is_used: boolean}} */
        const told = await answer.json();
        return told;
      };
      if (placed.length === 0) {
        for (const coupon of ['TEN', 'FREE']) {
          const items = '{"items":[{"sku":"TEA-SENCHA","quantity":1}]}';
          const { id } = await call('v1/orders', 'POST', items, coupon);
          await call(`coupons/${coupon}/orders/${id}`, 'POST');
          const { checkoutUrl: till } = await call(`v1/orders/${id}/payments`, 'POST');
          placed.push({ id, till });
        }
        const ofBob = { method: 'POST', headers: { cookie: 'sid=bob' } };
        const { status } = await fetch(`${address}/coupons/TEN/orders/${placed[0]?.id}`, ofBob);
        if (status !== 404) throw new Error(`somebody else's order: ${status}`);
        await call(placed[0]?.till ?? '', 'POST');
        await endSessions(url);
      }
      const now = await Promise.all(placed.map(({ id }) => call(`v1/orders/${id}`)));
      if (now[0]?.status !== 'paid' || now[1]?.status !== 'closed') return false;
      const [used, free] = await Promise.all(['TEN', 'FREE'].map((one) => call(`coupons/${one}`)));
      const late = await fetch(placed[1]?.till ?? '', { method: 'POST' });
      return used?.is_used === true && free?.order_id === null && late.status === 409;
    });
  });
}

/** What the examples' providers and close targets promise, by the contracts that are packed. @param {string} folder */
function runContracts(folder) {
  return withDatabase((url) => {
    const env = { DATABASE_URL: url };
    const files = ['shop/contract.js', 'own-orders/contract.js'];
    const told = run(process.execPath, ['--test', ...files], { cwd: folder, env });
    const passed = Number(/^[^\w]*pass (\d+)$/m.exec(told)?.[1]);
    if (!(passed > 20)) throw new Error(`the contracts were not run:\n${told}`);
    return passed;
  });
}

/**
 * What importers find, by judges of others: every entry, from CommonJS and ES modules, with its types.
 * @param {{folder: string, tarball: string, name: string}[]} packages
 */
function judge(packages) {
  const { bin } = installTools();
  for (const { folder: packed, tarball, name } of packages) {
    run(bin('publint'), ['--strict', packed]);
    // The command is for nobody to import.
    if (name !== 'lastcall') run(bin('attw'), [tarball]);
    console.log(`${name}: publint${name === 'lastcall' ? '' : ' and attw'} found nothing`);
  }
  const folders = packages.flatMap((one) => (one.name === 'lastcall' ? [] : [one.folder]));
  const { count, changed, forgotten } = reportApi(folders, { write: false });
  if (changed.length > 0) {
    const how = 'npm run api:report writes them; say in the changelog what changes for importers';
    throw new Error(`what the packages offer is not what etc/ says: ${changed.join(', ')}\n${how}`);
  }
  if (forgotten.length > 0) throw new Error(sayForgotten(forgotten));
  console.log(`the API of ${count} entries is as etc/ has it, and exports what it speaks of`);
  documentApi(folders);
  console.log('typedoc has documented them without a warning');
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
  judge(packages);
  const folders = new Map(NESTS.map((name) => [name, install(name, packages)]));
  // Every host on this Node, and one on each of the others.
  const runs = [
    ...HOSTS.map((host) => ({ node: process.execPath, host })),
    ...otherNodes().map((node, at) => ({ node, host: HOSTS[at % HOSTS.length] ?? HOSTS[0] })),
  ];
  for (const { node, host } of runs) {
    const version = run(node, ['--version']).trim();
    const held = await runSlice(folders.get(host.nest) ?? '', node, host);
    console.log(`${version} ${host.nest} ${host.module} ${host.adapter}: ${held}`);
  }
  for (const nest of NESTS) {
    const folder = folders.get(nest) ?? '';
    await runReadme(folder);
    await runTrials(folder);
    await runShop(folder);
    await runOwnOrders(folder);
    const promises = await runContracts(folder);
    console.log(`${nest}: the program of README.md, examples/${EXAMPLES.join(', examples/')}`);
    console.log(`${nest}: ${promises} tests of the contracts of the examples' provider and orders`);
  }
  const cli = join(folders.get('nest12') ?? '', 'node_modules', '.bin', 'lastcall');
  console.log(`npx lastcall --version: ${run(cli, ['--version']).trim()}`);
} finally {
  rmSync(work, { recursive: true, force: true });
}
