// The processes of an installation, in the order they were started, and how each is stopped.
// They are written down, so that the next start finds what a killed launcher has left behind.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { processIdentity, stopProcess } from '../services/processes.mjs';

/**
 * @typedef {object} Record
 * @property {string} name
 * @property {number} pid
 * @property {string | null} identity
 */

/** Postgres takes SIGTERM for "when all clients have left"; the app drains for up to 20 s. */
const STOP_SIGNAL = /** @type {{ [name: string]: NodeJS.Signals }} */ ({ Postgres: 'SIGINT' });
const STOP_LIMIT_MS = 25_000;

export class RunningProcesses {
  /** @type {Record[]} */
  #records = [];
  #file;

  /** @param {string} file */
  constructor(file) {
    this.#file = file;
  }

  /** @param {string} name @param {number} pid */
  add(name, pid) {
    this.#records.push({ name, pid, identity: processIdentity(pid) });
    writeFileSync(this.#file, JSON.stringify(this.#records), { mode: 0o600 });
  }

  clear() {
    this.#records = [];
    rmSync(this.#file, { force: true });
  }

  /**
   * Stops what the launcher before this one has left behind, the last started first.
   * @param {(line: string) => void} say
   */
  async stopLeftovers(say) {
    for (const { name, pid, identity } of readRecords(this.#file).reverse()) {
      if (identity === null || processIdentity(pid) !== identity) continue;
      say(`Stopping ${name} (process ${pid}), which a killed launcher left behind`);
      const stopped = await stopProcess(pid, [
        ['SIGCONT', 0],
        [STOP_SIGNAL[name] ?? 'SIGTERM', STOP_LIMIT_MS],
        ['SIGKILL', 5_000],
      ]);
      if (!stopped) throw new Error(`${name} (process ${pid}) was left behind and does not stop`);
    }
    this.clear();
  }
}

/**
 * @param {string} file
 * @returns {Record[]}
 */
function readRecords(file) {
  if (!existsSync(file)) return [];
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    // Cut short by the kill: Postgres and Redis are still found by their pid files.
    return [];
  }
}
