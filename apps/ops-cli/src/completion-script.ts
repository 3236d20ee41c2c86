export interface CompletedCommand {
  readonly words: readonly string[];
  readonly flags: readonly string[];
}

/** A function for bash, which zsh runs as well: the words so far choose what may follow. */
export function completionScript(
  shell: 'bash' | 'zsh',
  bin: string,
  commands: readonly CompletedCommand[],
): string {
  const lines = [...follows(commands)].map(
    ([typed, next]) => `    "${typed}") words="${[...next].join(' ')}" ;;`,
  );
  return [
    ...(shell === 'zsh' ? ['autoload -Uz compinit bashcompinit', 'compinit', 'bashcompinit'] : []),
    `_${bin}_complete() {`,
    '  local typed="" words="" word index',
    '  for ((index = 1; index < COMP_CWORD; index++)); do',
    '    word="${COMP_WORDS[index]}"',
    '    case "$word" in -*) ;; *) typed="${typed:+$typed }$word" ;; esac',
    '  done',
    // Arguments after a command are no words of ours: fall back to the command itself.
    '  while :; do',
    '    case "$typed" in',
    ...lines,
    '    esac',
    '    if [ -n "$words" ] || [ -z "$typed" ]; then break; fi',
    '    case "$typed" in *" "*) typed="${typed% *}" ;; *) typed="" ;; esac',
    '  done',
    '  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))',
    '}',
    `complete -F _${bin}_complete ${bin}`,
  ].join('\n');
}

/** What may follow each beginning: the next word of a command, or the flags of a whole one. */
function follows(commands: readonly CompletedCommand[]): Map<string, Set<string>> {
  const next = new Map<string, Set<string>>();
  const add = (typed: string, word: string): void => {
    next.set(typed, (next.get(typed) ?? new Set()).add(word));
  };
  for (const { words, flags } of commands) {
    words.forEach((word, index) => add(words.slice(0, index).join(' '), word));
    for (const flag of flags) add(words.join(' '), flag);
  }
  return next;
}
