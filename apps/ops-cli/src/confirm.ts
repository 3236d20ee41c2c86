import { createInterface } from 'node:readline';
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
 * @throws {CommandFailure} confirmation_needed, interrupted
 */
export async function confirmTyped(command: Asking, what: string, expected: string): Promise<void> {
  const needed = (what: string, why: string) => confirmationNeeded(what, why, nextOf(command));
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw needed(
      `${what}: that needs a confirmation`,
      'this is not a terminal, so nobody can be asked',
    );
  }
  const answer = await ask(`${printable(what)}. Type ${expected} to go on: `);
  if (answer === undefined) throw needed('Nothing was changed', 'the input has ended');
  if (answer.trim() === expected) return;
  throw needed('Nothing was changed', `"${answer.trim()}" is not "${expected}"`);
}

/**
 * What is typed; undefined for Ctrl-D.
 * @throws {CommandFailure} interrupted, by Ctrl-C
 */
async function ask(question: string): Promise<string | undefined> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const newLine = (): void => void process.stderr.write('\n');
  try {
    return await new Promise((resolve, reject) => {
      prompt.on('SIGINT', () => {
        newLine();
        const what = 'Interrupted: nothing was changed';
        const parts = { code: 'interrupted', exitCode: EXIT.interrupted, what };
        reject(new CommandFailure(parts));
      });
      prompt.on('close', () => {
        newLine();
        resolve(undefined);
      });
      prompt.question(question, resolve);
    });
  } finally {
    prompt.removeAllListeners('close').close();
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
