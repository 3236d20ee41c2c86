import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { transformSync } from '@swc/core';
import { asOwner } from './database';
import { createMigratedDatabase } from './migrated-database';
import { takeRedisDatabase } from './redis';
import { BY_HAND, Shop } from './shop';

const ROOT = join(__dirname, '..', '..');
const SECRET = 'a-secret-for-tests-of-32-characters';
const WEBHOOK_SECRET = 'whsec_YS13ZWJob29rLXNlY3JldC1mb3ItdGVzdHM=';
/** Two cores may be starting several of these at once. */
const START_LIMIT_MS = 60_000;

/** A process of the application, killable at a step. */
export interface AppProcess {
  readonly url: string;
  /** Makes it kill itself the next time it comes to this failpoint (test/support/failing-main.ts). */
  dieAt(failpoint: string): Promise<void>;
  /** Resolves when it is gone, with the signal that ended it. */
  readonly gone: Promise<NodeJS.Signals | null>;
  kill(): Promise<void>;
}

/** A shop made of real processes: the sandbox, and as many of the application as a test starts. */
export interface Installation extends Shop {
  /** Starts one; the sandbox sends its webhooks to the one started last. */
  startProcess(settings?: Readonly<Record<string, string>>): Promise<AppProcess>;
  close(): Promise<void>;
}

export async function startInstallation(
  settings: Readonly<Record<string, string>> = {},
): Promise<Installation> {
  const home = mkdtempSync(join(tmpdir(), 'lastcall-money-'));
  const database = await createMigratedDatabase();
  const environment = {
    ...BY_HAND,
    PORT: '0',
    LASTCALL_HOME: home,
    DATABASE_URL: database.appUrl,
    REDIS_URL: await takeRedisDatabase(),
    AUTH_JWT_SECRET: SECRET,
    SANDBOX_WEBHOOK_SECRET: WEBHOOK_SECRET,
    RATE_LIMIT: 'off',
    MAX_OPEN_ORDERS: 'off',
    MAX_HELD_UNITS: 'off',
    MAX_HELD_SHARE: 'off',
    MAX_UNPAID_IN_A_ROW: 'off',
    ...settings,
  };
  const owner = asOwner(database.url);
  const running = new Set<ChildProcess>();
  const sandbox = await startNode(['dist/apps/sandbox/src/main.js'], running, {
    SANDBOX_PORT: '0',
    SANDBOX_WEBHOOK_SECRET: WEBHOOK_SECRET,
    SANDBOX_DATA: join(home, 'sandbox'),
  });
  const shop = new Shop('', sandbox.url, owner);
  return Object.assign(shop, {
    startProcess: async (more: Readonly<Record<string, string>> = {}) => {
      const env = { ...environment, SANDBOX_URL: sandbox.url, ...more };
      const { child, url, gone } = await startNode([entryPoint()], running, env);
      shop.apiUrl = url;
      const endpoint = { url: `${url}/v1/webhooks/sandbox` };
      await shop.sandbox('PUT', '/v1/webhooks/endpoint', endpoint);
      return {
        url,
        gone,
        dieAt: async (failpoint: string) => {
          child.send(failpoint);
          await once(child, 'message');
        },
        kill: async () => {
          child.kill('SIGKILL');
          await gone;
        },
      };
    },
    close: async () => {
      const ends = [...running].map((child) => once(child, 'exit'));
      for (const child of running) child.kill('SIGKILL');
      await Promise.all(ends);
      await owner.close();
      await database.drop();
      rmSync(home, { recursive: true, force: true });
    },
  });
}

/** The entry point that can die, compiled to beside the built application. */
function entryPoint(): string {
  const source = join(__dirname, 'failing-main.ts');
  const { code } = transformSync(readFileSync(source, 'utf8'), { filename: source });
  const folder = join(ROOT, 'dist', 'test', 'support');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'failing-main.js');
  // Put in place whole: another test may be starting it.
  const unfinished = `${file}.${process.pid}`;
  writeFileSync(unfinished, code);
  renameSync(unfinished, file);
  return file;
}

interface Started {
  readonly child: ChildProcess;
  readonly url: string;
  readonly gone: Promise<NodeJS.Signals | null>;
}

/** Resolves when the process has said where it listens. */
function startNode(
  args: readonly string[],
  running: Set<ChildProcess>,
  env: Readonly<Record<string, string>>,
): Promise<Started> {
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  running.add(child);
  let said = '';
  const gone = new Promise<NodeJS.Signals | null>((resolve) => {
    child.once('exit', (_code, signal) => {
      running.delete(child);
      resolve(signal);
    });
  });
  child.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  return new Promise((resolve, reject) => {
    const giveUp = setTimeout(() => reject(new Error(`not listening: ${said}`)), START_LIMIT_MS);
    child.stdout?.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-20_000);
      const url = /listening on (http:\S+)|"url":"(http:[^"]+)"/.exec(said);
      if (!url) return;
      clearTimeout(giveUp);
      resolve({ child, url: (url[1] ?? url[2]) as string, gone });
    });
    void gone.then(() => reject(new Error(`ended before it listened: ${said}`)));
  });
}
