// Runs a command in the foreground, and ends it when this process is told to end.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

const KILL_AFTER_MS = 10_000;
const PARENT_CHECK_MS = 500;

/**
 * Turns the signals that ask this process to end into an AbortSignal, so that whoever has
 * started something can stop it. The default, to die at once, would leave it behind.
 * @returns {AbortSignal} its reason is the name of the signal
 */
export function interruption() {
  const controller = new AbortController();
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(name, () => controller.abort(name));
  }
  // npm passes a signal on to the shell it runs scripts with, and the shell dies of it alone.
  if (process.env.npm_lifecycle_event) onParentGone(() => controller.abort('SIGTERM'));
  return controller.signal;
}

/** @param {() => void} act */
export function onParentGone(act) {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    act();
  }, PARENT_CHECK_MS);
  timer.unref();
}

/** @param {AbortSignal} signal @returns {number} the exit code a shell would report */
export function exitCodeOf(signal) {
  return 128 + (constants.signals[/** @type {NodeJS.Signals} */ (signal.reason)] ?? 2);
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {object} options
 * @param {AbortSignal} options.signal
 * @param {NodeJS.ProcessEnv} [options.env]
 * @param {string} [options.cwd]
 * @param {import('node:child_process').StdioOptions} [options.stdio]
 * @returns {Promise<{ code: number, output: string }>} `output`: what went to pipes
 */
export function runCommand(command, args, { signal, env, cwd, stdio = 'inherit' }) {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, cwd, stdio });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text) => (output += text));
    }
    /** @type {NodeJS.Timeout | undefined} */
    let killTimer;
    const end = () => {
      child.kill(signal.reason);
      killTimer = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS);
    };
    signal.addEventListener('abort', end, { once: true });
    const finish = () => {
      clearTimeout(killTimer);
      signal.removeEventListener('abort', end);
    };
    child.once('error', (cause) => {
      finish();
      reject(new Error(`cannot run ${command}: ${cause.message}`, { cause }));
    });
    child.once('close', (code, endedBy) => {
      finish();
      resolve({ code: code ?? 128 + (endedBy ? constants.signals[endedBy] : 0), output });
    });
  });
}
