// Questions about processes that this one may not have started: is it alive, is it still the
// same one, what is it working on; and the one way to stop it.
import { spawnSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 25;

/**
 * The fields of /proc/PID/stat after the command name, or null where there is no /proc.
 * The name may contain spaces and brackets, so everything up to the last bracket goes.
 * @param {number} pid
 */
function linuxStat(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}

/** @param {string} command @param {string[]} args */
function outputOf(command, args) {
  const { status, stdout } = spawnSync(command, args, { encoding: 'utf8', timeout: 5_000 });
  return status === 0 ? stdout.trim() : '';
}

/**
 * A zombie counts as dead: in a container whose process 1 reaps nobody it stays for ever.
 * @param {number} pid
 */
export function isAlive(pid) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
  return linuxStat(pid)?.[0] !== 'Z';
}

/**
 * Tells a process from a later one that was given the same pid: the instant it started.
 * @param {number} pid
 * @returns {string | null} null if there is no such process
 */
export function processIdentity(pid) {
  if (!isAlive(pid)) return null;
  return linuxStat(pid)?.[19] ?? outputOf('ps', ['-o', 'lstart=', '-p', String(pid)]);
}

/**
 * Whether a process works on a folder: named in its command line (Postgres) or its working
 * folder (Redis). Both are asked, because a root without CAP_SYS_PTRACE, as in a container, may
 * not see the working folder of another user's process.
 * @param {number} pid
 * @param {string} folder real path
 * @returns {boolean | null} null if it cannot be told
 */
export function worksOn(pid, folder) {
  const commandLine = readCommandLine(pid);
  if (commandLine?.includes(folder)) return true;
  const workingFolder = readWorkingFolder(pid);
  if (workingFolder !== null) return workingFolder === folder;
  return commandLine === null ? null : false;
}

/** @param {number} pid */
function readCommandLine(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    const command = outputOf('ps', ['-o', 'command=', '-p', String(pid)]);
    return command ? command.split(' ') : null;
  }
}

/** @param {number} pid */
function readWorkingFolder(pid) {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    const line = outputOf('lsof', ['-a', '-p', String(pid), '-d', 'cwd', '-Fn'])
      .split('\n')
      .at(-1);
    return line?.startsWith('n/') ? line.slice(1) : null;
  }
}

/**
 * Sends the signals one after the other, each with its time to work.
 * @param {number} pid
 * @param {[signal: NodeJS.Signals, waitMs: number][]} steps
 * @returns {Promise<boolean>} whether it is gone
 */
export async function stopProcess(pid, steps) {
  const identity = processIdentity(pid);
  for (const [signal, waitMs] of steps) {
    try {
      process.kill(pid, signal);
    } catch {
      break;
    }
    const giveUpAt = performance.now() + waitMs;
    while (performance.now() < giveUpAt) {
      if (!isAlive(pid)) return true;
      await delay(POLL_MS);
    }
    if (processIdentity(pid) !== identity) return true;
  }
  return !isAlive(pid);
}
