import { createInterface } from 'node:readline/promises';
import { CommandFailure } from './command-failure';
import { EXIT } from './exit-code';
import { printable } from './text/printable';

/** The command that asks: some can be rehearsed. */
interface Asking {
  readonly flags?: object;
}

/**
 * Has a person type `expected` before something is destroyed. Without a terminal there is nobody
 * to ask: then `--yes` has to say it.
 * @throws {CommandFailure} confirmation_needed
 */
export async function confirmTyped(command: Asking, what: string, expected: string): Promise<void> {
  const needed = (what: string, why: string) => confirmationNeeded(what, why, nextOf(command));
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw needed(
      `${what}: that needs a confirmation`,
      'this is not a terminal, so nobody can be asked',
    );
  }
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await prompt.question(`${printable(what)}. Type ${expected} to go on: `);
    if (answer.trim() === expected) return;
    throw needed('Nothing was changed', `"${answer.trim()}" is not "${expected}"`);
  } finally {
    prompt.close();
  }
}

function confirmationNeeded(what: string, why: string, next: string): CommandFailure {
  return new CommandFailure({
    code: 'confirmation_needed',
    exitCode: EXIT.confirmationNeeded,
    what,
    why,
    next,
  });
}

function nextOf({ flags = {} }: Asking): string {
  return 'dry-run' in flags
    ? 'look at the plan (--dry-run), then run it again with --yes'
    : 'run it again with --yes';
}
