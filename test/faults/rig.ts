import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'pg';
import {
  createApplicationUser,
  findRedisBinary,
  freePort,
  type Service,
  startPostgres,
  startRedis,
} from '../../scripts/services/index.mjs';
import { Process } from './processes';
import { FaultyProxy } from './proxy';

/** Where test/faults/main.mjs has built the product and the sabotaged entry points to. */
const BUILT = 'dist.faults';
const BACKFILL = 'test/faults/backfill-main.js';

/** The scaled clock: ten minutes are four seconds here, and the sweep comes every two. */
export const SETTINGS = {
  PAYMENT_WINDOW: '3s',
  PAYMENT_GRACE: '1s',
  SWEEP_INTERVAL: '2s',
  SHIP_WITHIN: '1h',
  RECEIVE_WITHIN: '1h',
  /** Whatever machine this is. */
  DRAINERS: '2',
};
export const SWEEP_MS = 2_000;

/** Which of its roles a process takes, and how it is sabotaged. */
export interface ProcessSettings {
  readonly name: string;
  readonly roles: 'api' | 'worker';
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Postgres, Redis and the sandbox provider, each behind a proxy; the product's processes; and
 * connections past the proxies, to look and to sabotage.
 */
export class Rig {
  readonly #folder = mkdtempSync(join(tmpdir(), 'lastcall-faults-'));
  readonly #password = randomBytes(12).toString('hex');
  readonly secrets = {
    AUTH_JWT_SECRET: randomBytes(32).toString('hex'),
    SANDBOX_WEBHOOK_SECRET: `whsec_${randomBytes(32).toString('base64')}`,
  };
  readonly #processes = new Map<string, Process>();
  /** What those said last that had ended by themselves, and have been replaced since. */
  readonly #replaced: string[] = [];
  readonly #ports = { postgres: 0, redis: 0, api: 0, sandbox: 0 };
  /** Past the proxies. */
  pool!: Pool;
  postgres!: FaultyProxy;
  redis!: FaultyProxy;
  provider!: FaultyProxy;
  #postgres!: Service;
  #redis!: Service;
  #sandbox!: Process;
  #databaseUrl = '';
  #appUrl = '';
  readonly #redisBinary = findRedisBinary(() => undefined);

  async open(): Promise<this> {
    chmodSync(this.#folder, 0o711);
    for (const name of ['postgres', 'redis', 'api', 'sandbox'] as const) {
      this.#ports[name] = await freePort();
    }
    await this.startPostgres();
    await this.startRedis();
    this.postgres = await FaultyProxy.to(this.#ports.postgres);
    this.redis = await FaultyProxy.to(this.#ports.redis);
    this.provider = await FaultyProxy.to(this.#ports.sandbox);
    const url = this.#postgres.url;
    this.pool = new Pool({ connectionString: withPath(url), max: 8 });
    // Its idle connections die with the server, as they should.
    this.pool.on('error', () => undefined);
    const migrate = this.#spawn('migrate', 'apps/api/src/migrate.js', {
      ...{ DATABASE_URL: url, DATABASE_ROLE: 'lastcall_app' },
    });
    await migrate.ended();
    this.#databaseUrl = withPath(url);
    // The product's processes may do no more than in production.
    this.#appUrl = withPath(await createApplicationUser(url, this.#password));
    await this.#startSandbox();
    return this;
  }

  async startPostgres(): Promise<void> {
    this.#postgres = await startPostgres({
      dataDir: join(this.#folder, 'postgres'),
      logFile: join(this.#folder, 'postgres.log'),
      password: this.#password,
      port: this.#ports.postgres,
      durable: true,
      // Five sweepers, each with pools of its own.
      settings: { max_connections: 300 },
    });
  }

  /** `pg_ctl stop -m immediate`: every backend is gone at once, and recovery follows. */
  async crashPostgres(): Promise<void> {
    process.kill(this.#postgres.pid, 'SIGQUIT');
    await this.#postgres.exited;
  }

  async startRedis(): Promise<void> {
    this.#redis = await startRedis({
      dataDir: join(this.#folder, 'redis'),
      logFile: join(this.#folder, 'redis.log'),
      port: this.#ports.redis,
      binary: this.#redisBinary,
      durable: false,
    });
  }

  /** With everything that was in it: nothing was on disk. */
  async crashRedis(): Promise<void> {
    process.kill(this.#redis.pid, 'SIGKILL');
    await this.#redis.exited;
  }

  /** Past the proxy. */
  get databaseUrl(): string {
    return this.#databaseUrl;
  }

  get redisUrl(): string {
    return this.#redis.url;
  }

  get apiUrl(): string {
    return `http://127.0.0.1:${this.#ports.api}`;
  }

  /** The provider as the buyer sees it, past the proxy. */
  get sandboxUrl(): string {
    return `http://127.0.0.1:${this.#ports.sandbox}`;
  }

  get processes(): readonly Process[] {
    return [...this.#processes.values()];
  }

  /** Everybody who was started, is gone, and was neither asked to end nor meant to. */
  get endedByThemselves(): string[] {
    return [...this.#replaced, ...endedOf(this.processes)];
  }

  /** Starts a process and waits until it is ready; `await` it later to let several start at once. */
  async start({ name, roles, env = {} }: ProcessSettings): Promise<Process> {
    const port = roles === 'api' ? this.#ports.api : await freePort();
    const settings = {
      ROLES: roles,
      PORT: String(port),
      DATABASE_URL: this.postgres.through(this.#appUrl),
      REDIS_URL: this.redis.through(this.#redis.url),
      SANDBOX_URL: this.provider.through(this.sandboxUrl),
      ...env,
    };
    this.#replaced.push(...endedOf(this.processes.filter((one) => one.name === name)));
    // As whoever runs it would: one that finds no database in time ends, and is started again.
    for (let tries = 1; ; tries++) {
      const child = this.#spawn(name, 'test/faults/faulty-main.js', settings);
      this.#processes.set(name, child);
      try {
        await child.ready(`http://127.0.0.1:${port}/health/live`);
        return child;
      } catch (error) {
        if (tries === 3 || child.isRunning) throw error;
      }
    }
  }

  /** A backfill in a process of its own. */
  backfill(env: Readonly<Record<string, string>>): Process {
    const redis = { REDIS_URL: this.redis.through(this.#redis.url) };
    return this.#spawn(`backfill-${randomBytes(3).toString('hex')}`, BACKFILL, {
      ...redis,
      ...env,
    });
  }

  process(name: string): Process {
    const found = this.#processes.get(name);
    if (!found) throw new Error(`There is no process "${name}"`);
    return found;
  }

  /** Forgets a process that is meant to be gone, by itself or by us. */
  forget(name: string): void {
    this.#processes.delete(name);
  }

  async rows<Row>(sql: string, params: readonly unknown[] = []): Promise<Row[]> {
    return (await this.pool.query(sql, [...params])).rows as Row[];
  }

  async stopAll(): Promise<void> {
    const stopping = this.processes.map(async (child) => {
      if (child.isRunning) await child.stop();
    });
    this.#replaced.push(...endedOf(this.processes));
    this.#processes.clear();
    for (const result of await Promise.allSettled(stopping)) {
      if (result.status === 'rejected') throw result.reason;
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.processes, this.#sandbox].map((child) => child?.kill()));
    await Promise.all([this.postgres, this.redis, this.provider].map((proxy) => proxy?.close()));
    await this.pool?.end();
    await Promise.all([this.#postgres?.stop(), this.#redis?.stop()]);
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async #startSandbox(): Promise<void> {
    this.#sandbox = this.#spawn('sandbox', 'apps/sandbox/src/main.js', {
      SANDBOX_PORT: String(this.#ports.sandbox),
      SANDBOX_WEBHOOK_URL: `${this.apiUrl}/v1/webhooks/sandbox`,
    });
    await this.#sandbox.ready(`${this.sandboxUrl}/health`);
  }

  #spawn(name: string, file: string, env: Readonly<Record<string, string>>): Process {
    const inherited = { PATH: process.env.PATH, HOME: process.env.HOME };
    const common = {
      MAX_OPEN_ORDERS: 'off',
      MAX_HELD_UNITS: 'off',
      MAX_HELD_SHARE: 'off',
      MAX_UNPAID_IN_A_ROW: 'off',
      RATE_LIMIT: 'off',
      WEBHOOKS_ALLOW_PRIVATE: 'on',
      LASTCALL_HOME: this.#folder,
    };
    const all = { ...inherited, ...common, ...SETTINGS, ...this.secrets, ...env };
    const direct = { DATABASE_URL: this.#postgres.url, REDIS_URL: this.#redis.url };
    const log = join(this.#folder, `${name}.log`);
    return new Process(name, join(BUILT, file), { ...direct, ...all }, log);
  }
}

const endedOf = (processes: readonly Process[]): string[] =>
  processes.flatMap(({ endedByItself }) => endedByItself ?? []);

/** Everybody looks for functions where a fault may put a clock of its own, then where they are. */
function withPath(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.searchParams.set('options', '-c search_path=skew,pg_catalog,lastcall');
  return url.href;
}
