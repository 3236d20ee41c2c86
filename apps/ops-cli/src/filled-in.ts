import { CommandFailure } from './command-failure';
import { shellWord } from './text/shell-word';

/** How lines that say what to do next, and the help, call `id` and `sub`, the one argument of a command. */
const PLACES = /\b(ID|SUB)\b/g;

/**
 * The same failure with what was typed in the place of the words that stand for it, as in `lastcall orders show ID`.
 * @param typed the arguments, by their names
 */
export function filledIn(
  failure: CommandFailure,
  typed: Readonly<Record<string, unknown>>,
): CommandFailure {
  const { next } = failure.parts;
  const filled = next?.replace(PLACES, (place) => {
    const value = typed[place.toLowerCase()];
    return typeof value === 'string' ? shellWord(value) : place;
  });
  if (filled === next) return failure;
  return new CommandFailure({ ...failure.parts, next: filled }, { cause: failure.cause });
}
