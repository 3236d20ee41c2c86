import type { Hook } from '@oclif/core';
import { briefFailure } from '../brief-failure';
import { usageFailure } from '../command-failure';
import { EXIT } from '../exit-code';
import { nearestName } from '../nearest-name';
import { printable } from '../text/printable';

/** A mistyped command: says which one was probably meant, or that the one there is takes no arguments. */
const hook: Hook.CommandNotFound = async function ({ id, argv = [], config, context }) {
  const words = (text: string): string => text.replaceAll(':', ' ');
  // With topics separated by spaces oclif hands over what it took for arguments, too.
  const typed = words([id, ...argv.filter((word) => !word.startsWith('-'))].join(' '));
  const names = config.commandIDs.map(words);
  const candidates = [typed, words(id)].map((text) => nearestName(text, names));
  const meant = candidates.find((name) => name !== undefined);
  const command = words(id);
  const bare = names.find((name) => command.startsWith(`${name} `) && (meant ?? name) === name);
  const extra = bare === undefined ? '' : printable(command.slice(bare.length + 1));
  const what =
    bare === undefined
      ? `There is no command "lastcall ${printable(command)}"`
      : `"lastcall ${bare}" takes no arguments, and "${extra}" is one`;
  const help =
    bare === undefined ? 'lastcall --help lists the commands' : `lastcall ${bare} --help`;
  const next = bare === undefined && meant ? `did you mean "lastcall ${meant}"?` : help;
  const failure = await briefFailure(usageFailure(what, next));
  if (argv.includes('--json')) {
    process.stdout.write(`${JSON.stringify({ error: failure }, null, 2)}\n`);
  } else {
    process.stderr.write(`Error: ${failure.parts.what}\nNext:  ${next}\n`);
  }
  context.exit(EXIT.usage);
};

export default hook;
