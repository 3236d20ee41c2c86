// Installs the packages unless they are there already: what `npm start` and `npm test` do first.
import { exitCodeOf, interruption } from './run-command.mjs';
import { ensureInstalled } from './set-up.mjs';

const signal = interruption();
try {
  await ensureInstalled({ signal, say: (line) => console.log(line) });
} catch (error) {
  if (!signal.aborted) console.error(error instanceof Error ? error.message : error);
  process.exitCode = signal.aborted ? exitCodeOf(signal) : 1;
}
