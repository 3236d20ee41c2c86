// The demo's rig: throw-away services, the real application and the real sandbox provider, each
// a process of its own, and the calls that a storefront, a buyer and an operator make to them.
import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { serverEnvironment } from '../services/environment.mjs';
import { freePort, startThrowawayServices } from '../services/index.mjs';

/** How many want each core of this machine: what has to be done within a window takes so much longer. */
export const SLOWNESS = Math.min(
  4,
  Math.max(1, Math.round((loadavg()[0] ?? 0) / availableParallelism())),
);

/** The scaled clock: ten minutes are three seconds here, and the sweep comes every two. */
export const SCALED_SETTINGS = {
  PAYMENT_WINDOW: `${3 * SLOWNESS}s`,
  PAYMENT_GRACE: `${SLOWNESS}s`,
  RECEIVE_WITHIN: '2s',
  SWEEP_INTERVAL: '2s',
};

const START_LIMIT_MS = 60_000;
const STOP_LIMIT_MS = 25_000;
const WAIT_LIMIT_MS = 60_000;
const POLL_MS = 50;

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */
/** @typedef {Record<string, any>} Json */

export class Rig {
  /** @type {ChildProcess | undefined} */ #app;
  /** @type {ChildProcess | undefined} */ #sandbox;
  /** @type {Awaited<ReturnType<typeof startThrowawayServices>> | undefined} */ #services;
  #folder = mkdtempSync(join(tmpdir(), 'lastcall-demo-'));
  #secrets = {
    AUTH_JWT_SECRET: randomBytes(32).toString('hex'),
    SANDBOX_WEBHOOK_SECRET: `whsec_${randomBytes(32).toString('base64')}`,
  };
  /** @type {Map<string, string>} */ #tokens = new Map();
  #isClosed = false;
  #apiPort = 0;
  #sandboxPort = 0;

  /** @param {(line: string) => void} say */
  async open(say) {
    this.#services = await startThrowawayServices({ say });
    this.#apiPort = await freePort();
    this.#sandboxPort = await freePort();
    await this.#finish(this.#spawn('dist/apps/api/src/migrate.js', {}, ['--seed']));
    this.#sandbox = this.#spawn('dist/apps/sandbox/src/main.js', {
      SANDBOX_PORT: String(this.#sandboxPort),
      SANDBOX_WEBHOOK_URL: `http://127.0.0.1:${this.#apiPort}/v1/webhooks/sandbox`,
    });
    await this.startApp();
  }

  /** @param {Record<string, string>} [settings] */
  async startApp(settings = {}) {
    this.#app = this.#spawn('dist/apps/api/src/main.js', settings);
    await this.until(
      'the application is ready',
      async () => {
        if (this.#app?.exitCode !== null) throw new Error(`The application ended:\n${this.#log()}`);
        const answer = await fetch(`${this.apiUrl}/health/ready`).catch(() => undefined);
        return answer?.ok;
      },
      START_LIMIT_MS,
    );
  }

  /** As a power cut would: no goodbye. */
  async killApp() {
    const app = /** @type {ChildProcess} */ (this.#app);
    app.kill('SIGKILL');
    await exited(app);
  }

  async close() {
    this.#isClosed = true;
    for (const child of [this.#app, this.#sandbox]) {
      if (!child || child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
      await exited(child);
      clearTimeout(timer);
    }
    await this.#services?.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get apiUrl() {
    return `http://127.0.0.1:${this.#apiPort}`;
  }

  get redisUrl() {
    return /** @type {{ redisUrl: string }} */ (this.#services).redisUrl;
  }

  /** What the operators' CLI needs to find this installation; settings of the shop's own would change the story. */
  get environment() {
    return {
      ...serverEnvironment(),
      ...this.#secrets,
      ...SCALED_SETTINGS,
      LASTCALL_HOME: this.#folder,
      DATABASE_URL: this.#services?.databaseUrl,
      REDIS_URL: this.#services?.redisUrl,
      PORT: String(this.#apiPort),
      SANDBOX_URL: `http://127.0.0.1:${this.#sandboxPort}`,
      RATE_LIMIT: 'off',
    };
  }

  /**
   * Calls the API as a customer, merchant or operator.
   * @param {string} methodAndPath
   * @param {{ scope?: string, body?: Json, headers?: Record<string, string> }} [options]
   * @returns {Promise<{ status: number, body: Json }>}
   */
  async api(methodAndPath, { scope = 'orders', body, headers = {} } = {}) {
    const [method, path] = /** @type {[string, string]} */ (methodAndPath.split(' '));
    const authorization = `Bearer ${await this.#token(scope)}`;
    return call(method, this.apiUrl + path, body, { authorization, ...headers });
  }

  /**
   * Calls the sandbox provider: the buyer's own doings, and its switches for misbehaviour.
   * @param {string} methodAndPath
   * @param {Json} [body]
   */
  async provider(methodAndPath, body) {
    const [method, path] = /** @type {[string, string]} */ (methodAndPath.split(' '));
    return call(method, `http://127.0.0.1:${this.#sandboxPort}${path}`, body, {});
  }

  /** @param {string} [sku] */
  async place(sku = 'TEA-SENCHA') {
    const { status, body } = await this.api('POST /v1/orders', {
      body: {
        items: [
          { sku, quantity: 1 },
          { sku: 'CUP-PORCELAIN', quantity: 2 },
        ],
      },
      headers: { 'idempotency-key': randomUUID() },
    });
    if (status !== 201) throw new Error(`An order was refused: ${JSON.stringify(body)}`);
    return body;
  }

  /** @param {Json} order */
  async openPayment(order) {
    const { status, body } = await this.api(`POST /v1/orders/${order.id}/payments`);
    if (status !== 201) throw new Error(`A payment was refused: ${JSON.stringify(body)}`);
    return body;
  }

  /** @param {Json} order */
  async read(order) {
    return (await this.api(`GET /v1/orders/${order.id}`)).body;
  }

  /**
   * Follows the order's event stream, which unlike a read closes nothing, until an event matches. The
   * stream of an order in its final status ends; it is opened again, as late money may revive the order.
   * @param {Json} order
   * @param {(event: Json) => boolean} matches
   * @returns {Promise<Json>}
   */
  async event(order, matches) {
    return this.until(`order ${order.id} has had this event`, () => this.#found(order, matches));
  }

  /**
   * The first event that matches, of those that there are until the stream ends.
   * @param {Json} order
   * @param {(event: Json) => boolean} matches
   * @returns {Promise<Json | undefined>}
   */
  async #found(order, matches) {
    const response = await fetch(`${this.apiUrl}/v1/orders/${order.id}/events`, {
      headers: { authorization: `Bearer ${await this.#token('orders')}` },
      signal: AbortSignal.timeout(WAIT_LIMIT_MS),
    });
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines.filter((one) => one.startsWith('data:'))) {
        const event = JSON.parse(line.slice('data:'.length));
        if (matches(event)) return event;
      }
    }
    return undefined;
  }

  /**
   * Looks again and again until `condition` holds.
   * @template T
   * @param {string} what
   * @param {() => Promise<T>} condition
   * @returns {Promise<NonNullable<T>>}
   */
  async until(what, condition, limitMs = WAIT_LIMIT_MS) {
    for (const endMs = Date.now() + limitMs; Date.now() < endMs;) {
      const value = await condition();
      if (value) return /** @type {NonNullable<T>} */ (value);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    throw new Error(`Not within ${limitMs} ms: ${what}`);
  }

  /** @param {string} scope */
  async #token(scope) {
    const known = this.#tokens.get(scope);
    if (known) return known;
    const { SignJWT } = await import('jose');
    const token = await new SignJWT({ scope })
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject('demo')
      .setExpirationTime('1h')
      .sign(new TextEncoder().encode(this.#secrets.AUTH_JWT_SECRET));
    this.#tokens.set(scope, token);
    return token;
  }

  /**
   * @param {string} file
   * @param {Record<string, string>} settings
   * @param {readonly string[]} [args]
   */
  #spawn(file, settings, args = []) {
    if (this.#isClosed) throw new Error('The demo is over');
    const log = openSync(join(this.#folder, 'processes.log'), 'a');
    const child = spawn(process.execPath, [file, ...args], {
      env: { ...this.environment, ...settings },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    return child;
  }

  /** @param {ChildProcess} child */
  async #finish(child) {
    await exited(child);
    if (child.exitCode !== 0) throw new Error(`A process failed:\n${this.#log()}`);
  }

  #log() {
    return readFileSync(join(this.#folder, 'processes.log'), 'utf8').slice(-2_000);
  }
}

/** @param {ChildProcess} child */
function exited(child) {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => child.once('exit', resolve));
}

/**
 * @param {string} method
 * @param {string} url
 * @param {Json | undefined} body
 * @param {Record<string, string>} headers
 */
async function call(method, url, body, headers) {
  const response = await fetch(url, {
    method,
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}
