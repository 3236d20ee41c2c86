import { shellWord } from './shell-word';

/** Longer words, as a whole query, are known to who typed them. */
const LONGEST = 120;

/**
 * The flags of a command line for a line that goes on with it: as they were typed, without those of
 * `without`, which are given anew or had their say, and without `--json`, which says how the result is
 * printed. A long word, or one of several lines, is `...`.
 *
 * @param without flags with a value, by their whole names, as `--resume`
 */
export function givenFlags(argv: readonly string[], without: readonly string[]): string {
  const given: string[] = [];
  let isValue = false;
  for (const word of argv) {
    const isDropped =
      isValue || word === '--json' || without.some((name) => word.startsWith(`${name}=`));
    isValue = !isValue && without.includes(word);
    if (!isDropped && !isValue) given.push(` ${shortWord(word)}`);
  }
  return given.join('');
}

function shortWord(word: string): string {
  if (word.length <= LONGEST && !/\p{Cc}/u.test(word)) return shellWord(word);
  const [flag] = /^--[\w-]+=/.exec(word) ?? [''];
  return `${flag}...`;
}
