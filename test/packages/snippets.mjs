// The programs in the documentation, as files that a host can compile.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const project = join(here, '..', '..');

/** The program in README.md, "In your own Nest app": what is printed there runs. @param {string} folder */
export function readmeProgram(folder) {
  const readme = readFileSync(join(project, 'README.md'), 'utf8');
  const [, program] = /## In your own Nest app\n[^]*?```ts\n([^]*?)```/.exec(readme) ?? [];
  if (!program) throw new Error('README.md has no program under "In your own Nest app"');
  const file = join(folder, 'readme.ts');
  writeFileSync(file, program);
  return file;
}

/**
 * Each snippet of docs/adopting.md in a file of its own, behind what it takes for granted; one marked
 * `ts sketch` leaves out what a compiler wants.
 * @param {string} folder @returns {Record<string, string>} the names in a host, and where they are
 */
export function adoptingSnippets(folder) {
  const preamble = readFileSync(join(here, 'snippets', 'preamble.ts'), 'utf8');
  const text = readFileSync(join(project, 'docs', 'adopting.md'), 'utf8');
  const snippets = [...text.matchAll(/^( *)```ts\n([^]*?)^ *```$/gm)];
  if (snippets.length < 5) throw new Error('docs/adopting.md has lost its snippets');
  return Object.fromEntries(
    snippets.map(([, indent = '', snippet = ''], at) => {
      const file = join(folder, `adopting-${at}.ts`);
      const program = snippet.split('\n').map((line) => line.slice(indent.length));
      writeFileSync(file, `${preamble}${program.join('\n')}`);
      return [`adopting-${at}.mts`, file];
    }),
  );
}
