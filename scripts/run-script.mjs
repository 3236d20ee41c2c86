// How every script here begins and ends.
import { exitCodeOf, interruption } from './run-command.mjs';

/** @typedef {{ signal: AbortSignal, say: (line: string) => void }} Script */

/**
 * Does the script's work and sets the exit code of this process: what the work answers with; that
 * of the signal that ended it; or 1, after saying on stderr what went wrong.
 * @param {(script: Script) => Promise<number>} work told by `signal` to stop
 */
export async function runScript(work) {
  const signal = interruption();
  try {
    process.exitCode = await work({ signal, say: (line) => console.error(line) });
  } catch (error) {
    if (!signal.aborted) console.error(error instanceof Error ? error.message : error);
    process.exitCode = signal.aborted ? exitCodeOf(signal) : 1;
  }
}
