// Ctrl-C, SIGTERM, and the end of the shell that npm runs scripts with.
import { onParentGone } from '../run-command.mjs';

/** npm and the terminal both pass Ctrl-C on: two signals this close are one. */
const SAME_SIGNAL_MS = 1_000;

/** Somebody wants an end: `signal`; and does not want to wait for it: `hurry`. */
export class Interruption {
  #first = new AbortController();
  #second = new AbortController();

  get signal() {
    return this.#first.signal;
  }

  get hurry() {
    return this.#second.signal;
  }

  /** @param {string} [signal] passed on to whatever command is under way */
  end(signal = 'SIGTERM') {
    this.#first.abort(signal);
  }

  /**
   * @param {NodeJS.ProcessEnv} env
   * @param {(line: string) => void} say
   */
  listen(env, say) {
    let firstAt = 0;
    /** @param {string} [name] */
    const interrupt = (name) => {
      if (!this.signal.aborted) {
        firstAt = performance.now();
        say('Stopping (again Ctrl-C: without waiting for the app)');
        this.end(name);
      } else if (performance.now() - firstAt > SAME_SIGNAL_MS) {
        this.#second.abort();
      }
    };
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, interrupt);
    // npm passes SIGTERM on to the shell it runs scripts with, and the shell dies of it alone.
    if (env.npm_lifecycle_event) onParentGone(() => interrupt());
  }
}

/** @param {AbortSignal} signal */
export function untilAborted(signal) {
  return new Promise((resolve) => {
    if (signal.aborted) resolve('');
    else signal.addEventListener('abort', () => resolve(''), { once: true });
  });
}
