// A server of others that tests start, kill, freeze, empty and start again. Nothing here is for data
// that must survive.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * @typedef {object} Program
 * @property {string} name
 * @property {string} command
 * @property {string[]} args
 * @property {NodeJS.ProcessEnv} [env] besides PATH
 * @property {number} port answers here when it is up
 */

/**
 * @typedef {object} EngineSettings
 * @property {string} url
 * @property {string} folder everything that it keeps
 * @property {string[]} data folders below, that are emptied
 * @property {Program} program
 * @property {number} [settlesMs] so long after a change it is lost for good by a kill: waited for
 * @property {() => void} [prepare] before each start
 * @property {() => Promise<boolean>} [serves] asked until it is so, once its port answers
 * @property {Program[]} [helpers] started before it and left alone by faults
 */

const START_LIMIT_MS = 120_000;
const START_TRIES = 6;
const START_AGAIN_MS = 2_000;
const STOP_LIMIT_MS = 15_000;
const FREEZE_LIMIT_MS = 2_000;

export class EngineServer {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #process;
  /** @type {import('node:child_process').ChildProcess[]} */
  #helpers = [];
  #log = '';
  #settings;

  /** @param {EngineSettings} settings */
  constructor(settings) {
    this.#settings = settings;
    // A run that is cut off leaves nothing behind.
    process.once('exit', () => {
      for (const child of [this.#process, ...this.#helpers]) signal(child, 'SIGKILL');
    });
  }

  get url() {
    return this.#settings.url;
  }

  /** The group of its processes; undefined while it is down. */
  get pid() {
    return this.#process?.pid;
  }

  /** With the data it had when it was killed. Resolves when it serves. */
  async start() {
    const { program, prepare, helpers = [] } = this.#settings;
    prepare?.();
    if (this.#helpers.length === 0) {
      for (const helper of helpers) {
        const child = this.#spawn(helper);
        this.#helpers.push(child);
        await this.#untilItAnswers(helper, child);
      }
    }
    // While it was away a connection of somebody else may have got one of its ports.
    for (let tries = 1; ; tries++) {
      this.#log = '';
      const child = this.#spawn(program);
      this.#process = child;
      try {
        await this.#untilItAnswers(program, child);
        break;
      } catch (error) {
        if (tries === START_TRIES || !/in use/i.test(this.#log)) throw error;
        await delay(START_AGAIN_MS);
      }
    }
    await this.#untilItServes();
  }

  /** At once, without a chance to save anything. */
  async kill() {
    await delay(this.#settings.settlesMs ?? 0);
    await end(this.#process, 'SIGKILL');
    this.#process = undefined;
  }

  /** It accepts connections and says nothing any more. */
  freeze() {
    signal(this.#process, 'SIGSTOP');
    const giveUpAt = performance.now() + FREEZE_LIMIT_MS;
    while (!isStopped(this.#process?.pid) && performance.now() < giveUpAt);
  }

  thaw() {
    signal(this.#process, 'SIGCONT');
  }

  /** It has lost everything. */
  async flush() {
    await this.kill();
    for (const folder of this.#settings.data) rmSync(folder, { recursive: true, force: true });
    await this.start();
  }

  async stop() {
    this.thaw();
    await end(this.#process, 'SIGTERM');
    for (const helper of this.#helpers) await end(helper, 'SIGTERM');
    rmSync(this.#settings.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /** In a group of its own: some are scripts whose child is the server. @param {Program} program */
  #spawn({ command, args, env }) {
    const child = spawn(command, args, {
      env: { PATH: process.env.PATH, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    child.on('error', (error) => (this.#log += error.message));
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => (this.#log = `${this.#log}${chunk}`.slice(-4_000)));
    }
    return child;
  }

  async #untilItServes() {
    const { program, serves = async () => true } = this.#settings;
    const giveUpAt = performance.now() + START_LIMIT_MS;
    while (!(await serves())) {
      if (performance.now() > giveUpAt) throw new Error(`${program.name} serves nobody`);
      await delay(200);
    }
  }

  /** @param {Program} program @param {import('node:child_process').ChildProcess} child */
  async #untilItAnswers({ name, port }, child) {
    const giveUpAt = performance.now() + START_LIMIT_MS;
    for (;;) {
      const socket = connect(port, '127.0.0.1');
      try {
        await once(socket, 'connect');
        return;
      } catch (cause) {
        if (!isUp(child) || performance.now() > giveUpAt) {
          await end(child, 'SIGKILL');
          throw new Error(`${name} did not start:\n${this.#log}`, { cause });
        }
        await delay(200);
      } finally {
        socket.destroy();
      }
    }
  }
}

/** @param {import('node:child_process').ChildProcess | undefined} child */
const isUp = (child) =>
  child?.pid !== undefined && child.exitCode === null && child.signalCode === null;

/** @param {import('node:child_process').ChildProcess | undefined} child @param {NodeJS.Signals} name */
function signal(child, name) {
  if (child?.pid !== undefined && isUp(child)) process.kill(-child.pid, name);
}

/**
 * Threads of a stopped process answer on until each has heard of it, where /proc tells: elsewhere
 * they are taken for stopped. @param {number | undefined} group
 */
function isStopped(group) {
  if (!existsSync('/proc/self/task')) return true;
  const states = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && statOf(`/proc/${name}/stat`)[2] === `${group}`)
    .flatMap((name) => readdirSync(`/proc/${name}/task`).map((id) => `/proc/${name}/task/${id}`))
    .map((task) => statOf(`${task}/stat`)[0]);
  return states.every((state) => state === 'T' || state === 'Z');
}

/** State, parent, group and more; nothing of one that is gone. @param {string} file */
function statOf(file) {
  try {
    return readFileSync(file, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
  } catch {
    return ['Z'];
  }
}

/** @param {import('node:child_process').ChildProcess | undefined} child @param {NodeJS.Signals} how */
async function end(child, how) {
  if (!child || !isUp(child)) return;
  const gone = once(child, 'exit');
  signal(child, how);
  const ended = await Promise.race([
    gone.then(() => true),
    delay(STOP_LIMIT_MS, false, { ref: false }),
  ]);
  if (ended) return;
  signal(child, 'SIGKILL');
  await gone;
}
