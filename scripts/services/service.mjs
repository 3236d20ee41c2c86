// A server process as its starters know it: spawned apart, watched until it answers, stopped.
import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { lastLines, openLog } from './log-files.mjs';

/**
 * @typedef {object} Service
 * @property {string} url
 * @property {number} port
 * @property {number} pid
 * @property {string} dataDir where the data really is
 * @property {Promise<string>} exited resolves, with how it ended, when the process is gone
 * @property {() => Promise<void>} stop
 */

const PROBE_INTERVAL_MS = 40;
const READY_LIMIT_MS = 60_000;

class ServiceStartError extends Error {
  /**
   * @param {string} service
   * @param {string} reason
   * @param {string} log its last lines
   * @param {unknown} [cause]
   */
  constructor(service, reason, log, cause) {
    super(`${service} ${reason}${log ? `\n${log.replace(/^/gm, '  | ')}` : ''}`, { cause });
    this.name = 'ServiceStartError';
    this.portTaken = /address already in use|Failed listening/i.test(log);
  }
}

/**
 * Spawns a server in a session of its own, so that Ctrl-C in the terminal reaches the launcher
 * alone and the launcher decides who stops first.
 * @param {object} how
 * @param {string} how.name
 * @param {string} how.command
 * @param {string[]} how.args
 * @param {string} how.cwd
 * @param {string} how.logFile
 * @param {string} [how.input] given on stdin: what must not stand in the argument list
 * @param {NodeJS.ProcessEnv} [how.env]
 * @param {number} [how.uid]
 * @param {number} [how.gid]
 */
export function spawnService({ name, command, args, cwd, logFile, input, env, uid, gid }) {
  const log = openLog(logFile);
  const child = spawn(command, args, {
    cwd,
    env: env ?? process.env,
    uid,
    gid,
    detached: true,
    stdio: [input === undefined ? 'ignore' : 'pipe', log.fd, log.fd],
  });
  log.close();
  child.stdin?.on('error', () => {});
  child.stdin?.end(input);

  const state = { ended: false };
  /** @type {Promise<string>} */
  const exited = new Promise((resolve) => {
    child.once('error', (error) => resolve(`did not start: ${error.message}`));
    child.once('exit', (code, signal) =>
      resolve(signal ? `was ended by ${signal}` : `ended with exit code ${code}`),
    );
  });
  void exited.then(() => (state.ended = true));

  return {
    name,
    pid: child.pid ?? -1,
    exited,
    /** @param {{ lines?: number }} [options] */
    output: (options) => lastLines(logFile, { from: log.from, ...options }),
    hasEnded: () => state.ended,
    /**
     * @param {NodeJS.Signals} signal
     * @param {number} waitMs
     * @returns {Promise<boolean>} whether it has ended
     */
    async signal(signal, waitMs) {
      if (state.ended) return true;
      child.kill(signal);
      const timer = new AbortController();
      await Promise.race([exited, delay(waitMs, null, { signal: timer.signal }).catch(() => {})]);
      timer.abort();
      return state.ended;
    },
  };
}

/** @typedef {ReturnType<typeof spawnService>} Running */

/** Thrown by a probe: the server answers, and trying again will not change the answer. */
export class HopelessError extends Error {}

/**
 * Waits until `probe` no longer throws. The server does not outlive a failure to start.
 * @param {Running} running
 * @param {() => Promise<void>} probe
 * @param {{ limitMs?: number, signal?: AbortSignal }} [options]
 */
export async function untilReady(running, probe, { limitMs = READY_LIMIT_MS, signal } = {}) {
  const giveUpAt = performance.now() + limitMs;
  for (;;) {
    try {
      await probe();
      if (!running.hasEnded()) return;
    } catch (error) {
      if (error instanceof HopelessError || performance.now() > giveUpAt || signal?.aborted) {
        await end(running);
        signal?.throwIfAborted();
        if (error instanceof HopelessError) throw error;
        const reason = `did not answer within ${limitMs / 1_000} s`;
        throw new ServiceStartError(running.name, reason, running.output(), error);
      }
    }
    if (running.hasEnded()) {
      throw new ServiceStartError(running.name, await running.exited, running.output());
    }
    await delay(PROBE_INTERVAL_MS);
  }
}

/** @param {Running} running */
async function end(running) {
  if (await running.signal('SIGTERM', 5_000)) return;
  if (await running.signal('SIGQUIT', 5_000)) return;
  await running.signal('SIGKILL', 5_000);
}

/**
 * A free port can be taken before the server gets to it. When the port is ours to choose, choose
 * another.
 * @template T
 * @param {(attempt: number) => Promise<T>} start
 * @param {boolean} mayChooseAnother
 * @returns {Promise<T>}
 */
export async function withFreshPort(start, mayChooseAnother) {
  const attempts = mayChooseAnother ? 4 : 1;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start(attempt);
    } catch (error) {
      const again = error instanceof ServiceStartError && error.portTaken && attempt < attempts;
      if (!again) throw error;
    }
  }
}
