import { CommandFailure } from './command-failure';

/** Shorter texts are told as they are. */
const LONG = 1_000;

/** What was typed is told once more, and not 15 kB of it. */
export async function briefFailure(failure: CommandFailure): Promise<CommandFailure> {
  const { what, why, next } = failure.parts;
  if ([what, why, next].every((text = '') => text.length <= LONG)) return failure;
  // Loaded only now: a mistyped flag needs no core.
  const { shortened } = await import('@app/orders/look');
  const inLines = <Text extends string | undefined>(text: Text) =>
    text
      ?.split('\n')
      .map((line) => shortened(line))
      .join('\n') as Text;
  const parts = { ...failure.parts, what: inLines(what), why: inLines(why), next: inLines(next) };
  return new CommandFailure(parts, { cause: failure.cause });
}
