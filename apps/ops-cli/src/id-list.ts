import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { usageFailure } from './command-failure';

/** Ids given as arguments and in a file: one a line; blank lines and `# comments` are passed over. */
export async function readIds(
  given: readonly string[],
  file: string | undefined,
): Promise<string[]> {
  if (file === undefined) return [...given];
  const lines = (await contentOf(file)).split(/\r?\n/);
  const ids = lines.map((line) => line.replace(/#.*/, '').trim()).filter((line) => line !== '');
  if (ids.length === 0) throw usageFailure(`${file} names no id`, 'one id a line');
  return [...given, ...ids];
}

async function contentOf(file: string): Promise<string> {
  if (file === '-') return text(process.stdin);
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw usageFailure(`${file} cannot be read (${error.code})`, 'check the path given to --file');
  });
}
