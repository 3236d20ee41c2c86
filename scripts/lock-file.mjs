// A lock between processes of this machine: a file that names its holder. A holder that was
// killed cannot remove it, so a lock counts only as long as its holder lives.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { processIdentity } from './services/processes.mjs';

/** @typedef {{ pid: number, identity: string | null }} Holder */

const POLL_MS = 100;

/**
 * @param {string} file
 * @returns {{ release: () => void, holder: null } | { release: null, holder: Holder }}
 */
export function tryLock(file) {
  mkdirSync(dirname(file), { recursive: true });
  const mine = `${file}.${process.pid}`;
  writeFileSync(mine, JSON.stringify({ pid: process.pid, identity: processIdentity(process.pid) }));
  try {
    for (;;) {
      // A link appears complete or not at all, so nobody reads half a lock.
      if (linked(mine, file)) return { release: () => rmSync(file, { force: true }), holder: null };
      const holder = liveHolder(file);
      if (holder) return { release: null, holder };
      removeStale(file);
    }
  } finally {
    rmSync(mine, { force: true });
  }
}

/**
 * @template T
 * @param {string} file
 * @param {() => T | Promise<T>} work
 * @param {{ limitMs: number, onWait: (holder: Holder) => void, signal?: AbortSignal }} options
 * @returns {Promise<T>}
 */
export async function withLock(file, work, { limitMs, onWait, signal }) {
  const giveUpAt = performance.now() + limitMs;
  let told = false;
  for (;;) {
    const { release, holder } = tryLock(file);
    if (release) {
      try {
        return await work();
      } finally {
        release();
      }
    }
    if (!told) onWait(holder);
    told = true;
    if (performance.now() > giveUpAt) {
      throw new Error(
        `process ${holder.pid} has held ${file} for more than ${limitMs / 60_000} min`,
      );
    }
    await delay(POLL_MS, null, { signal });
  }
}

/** @param {string} from @param {string} to */
function linked(from, to) {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * @param {string} file
 * @returns {Holder | null}
 */
function liveHolder(file) {
  try {
    /** @type {Holder} */
    const holder = JSON.parse(readFileSync(file, 'utf8'));
    const identity = processIdentity(holder.pid);
    return identity !== null && identity === holder.identity ? holder : null;
  } catch {
    return null;
  }
}

/**
 * Two processes may find the same stale lock, and the slower one must not remove the new lock of
 * the faster: what was taken away is looked at again, and put back if somebody lives in it.
 * @param {string} file
 */
function removeStale(file) {
  const taken = `${file}.stale.${process.pid}`;
  try {
    renameSync(file, taken);
  } catch {
    return;
  }
  if (liveHolder(taken)) linked(taken, file);
  rmSync(taken, { force: true });
}
