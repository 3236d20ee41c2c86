import type { Hook } from '@oclif/core';
import { briefFailure } from '../brief-failure';
import { usageFailure } from '../command-failure';
import { EXIT } from '../exit-code';
import { nearestName } from '../nearest-name';
import { printable } from '../text/printable';

/** A mistyped command: says which one was probably meant. */
const hook: Hook.CommandNotFound = async function ({ id, argv = [], config, context }) {
  const words = (text: string): string => text.replaceAll(':', ' ');
  // With topics separated by spaces oclif hands over what it took for arguments, too.
  const typed = words([id, ...argv.filter((word) => !word.startsWith('-'))].join(' '));
  const names = config.commandIDs.map(words);
  const candidates = [typed, words(id)].map((text) => nearestName(text, names));
  const meant = candidates.find((name) => name !== undefined);
  const next = meant ? `did you mean "lastcall ${meant}"?` : 'lastcall --help lists the commands';
  const what = `There is no command "lastcall ${printable(words(id))}"`;
  const failure = await briefFailure(usageFailure(what, next));
  if (argv.includes('--json')) {
    process.stdout.write(`${JSON.stringify({ error: failure }, null, 2)}\n`);
  } else {
    process.stderr.write(`Error: ${failure.parts.what}\nNext:  ${next}\n`);
  }
  context.exit(EXIT.usage);
};

export default hook;
