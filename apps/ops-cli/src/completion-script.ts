/** What may follow the words typed so far: `orders list` -> `--status ...`. */
type Follows = ReadonlyMap<string, ReadonlySet<string>>;

export interface CompletedCommand {
  readonly words: readonly string[];
  readonly flags: readonly CompletedFlag[];
  /** What its argument may be, where that is known. */
  readonly values: readonly string[];
}

export interface CompletedFlag {
  readonly name: string;
  /** Empty where anything may follow; null for a flag without a value. */
  readonly values: readonly string[] | null;
}

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/**
 * A function for the shell that completes commands, flags and values that are known, for `lastcall`
 * and for `npx lastcall`. zsh runs the one of bash.
 */
export function completionScript(
  shell: Shell,
  bin: string,
  commands: readonly CompletedCommand[],
): string {
  const next = follows(commands);
  const values = flagValues(commands);
  if (shell === 'fish') return fishScript(bin, next, values);
  const zsh = ['autoload -Uz compinit bashcompinit', 'compinit', 'bashcompinit'];
  return [...(shell === 'zsh' ? zsh : []), bashScript(bin, next, values)].join('\n');
}

function bashScript(bin: string, next: Follows, values: Follows): string {
  const cases = (map: Follows): string[] =>
    [...map].map(
      ([typed, words]) => `      "${typed}") offered="${[...words].join(' ')}"; break ;;`,
    );
  return [
    `_${bin}_complete() {`,
    '  local typed="" offered="" previous="" word index',
    '  for ((index = 1; index < COMP_CWORD; index++)); do',
    '    word="${COMP_WORDS[index]}"',
    '    case "$word" in -*) ;; *) typed="${typed:+$typed }$word" ;; esac',
    '    previous="$word"',
    '  done',
    // Arguments after a command are no words of ours: fall back to the command itself.
    '  while :; do',
    '    case "$typed $previous" in',
    ...cases(values),
    '    esac',
    '    case "$typed" in',
    ...cases(next),
    '      *" "*) typed="${typed% *}" ;;',
    '      *) typed="" ;;',
    '    esac',
    '  done',
    '  COMPREPLY=($(compgen -W "$offered" -- "${COMP_WORDS[COMP_CWORD]}"))',
    '}',
    `_${bin}_npx() {`,
    '  COMPREPLY=()',
    `  [ "\${COMP_WORDS[1]}" = ${bin} ] || return 0`,
    '  COMP_WORDS=("${COMP_WORDS[@]:1}")',
    '  COMP_CWORD=$((COMP_CWORD - 1))',
    `  [ "$COMP_CWORD" -eq 0 ] || _${bin}_complete`,
    '}',
    `complete -o default -F _${bin}_complete ${bin}`,
    `complete -o default -F _${bin}_npx npx`,
  ].join('\n');
}

function fishScript(bin: string, next: Follows, values: Follows): string {
  const cases = (map: Follows): string[] =>
    [...map].map(
      ([typed, words]) =>
        `      case '${typed}'\n        string split ' ' -- '${[...words].join(' ')}'\n        return`,
    );
  return [
    `function __${bin}_complete`,
    '  set -l tokens (commandline -opc)',
    '  test "$tokens[1]" = npx; and set -e tokens[1]',
    `  test "$tokens[1]" = ${bin}; or return`,
    '  set -l previous $tokens[-1]',
    "  set -l typed (string match -v -- '-*' $tokens[2..-1] | string join ' ')",
    '  while true',
    '    switch "$typed $previous"',
    ...cases(values),
    '    end',
    '    switch "$typed"',
    ...cases(next),
    '    end',
    '    test -z "$typed"; and return',
    "    set typed (string replace -r ' ?[^ ]*$' '' -- $typed)",
    '  end',
    'end',
    `complete -c ${bin} -f -a '(__${bin}_complete)'`,
    `complete -c npx -a '(__${bin}_complete)'`,
  ].join('\n');
}

/** What may follow each beginning: the next word of a command, or what a whole one takes. */
function follows(commands: readonly CompletedCommand[]): Follows {
  const next = new Map<string, Set<string>>();
  const add = (typed: string, word: string): void => {
    next.set(typed, (next.get(typed) ?? new Set()).add(word));
  };
  for (const { words, flags, values } of commands) {
    words.forEach((word, index) => add(words.slice(0, index).join(' '), word));
    for (const value of values) add(words.join(' '), value);
    for (const { name } of flags) add(words.join(' '), `--${name}`);
  }
  return next;
}

/** What may follow a flag: `orders list --status` -> `paid ...`; nothing of ours where unknown. */
function flagValues(commands: readonly CompletedCommand[]): Follows {
  return new Map(
    commands.flatMap(({ words, flags }) =>
      flags.flatMap(({ name, values }): [string, ReadonlySet<string>][] =>
        values === null ? [] : [[`${words.join(' ')} --${name}`, new Set(values)]],
      ),
    ),
  );
}
