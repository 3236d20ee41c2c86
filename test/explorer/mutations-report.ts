import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { MUTATIONS } from './mutations.cjs';

const DOCS = join(__dirname, '..', '..', 'docs');
const REPORT = join(DOCS, 'mutations.md');
const RESULTS = join(DOCS, 'generated', 'mutations.json');

/** What found a seeded bug, and the first fault it told of. */
export interface Found {
  readonly where: string;
  readonly fault: string;
}

/** A bug's latest run; nothing was found where it survived. */
interface Row {
  readonly name: string;
  readonly found: Found | null;
  readonly ranAt: string;
}

/** Keeps the run of `name` beside the latest of the others, and writes the page anew. */
export async function writeMutations(
  name: string,
  found: Found | null,
  limits: string,
): Promise<void> {
  const before = JSON.parse(await readFile(RESULTS, 'utf8').catch(() => '[]')) as Row[];
  const rows = new Map(before.map((row) => [row.name, row]));
  rows.set(name, { name, found, ranAt: new Date().toISOString().slice(0, 10) });
  const known = MUTATIONS.flatMap((one) => rows.get(one.name) ?? []);
  await write(RESULTS, JSON.stringify(known), 'json');
  await write(REPORT, page(rows, limits), 'markdown');
}

async function write(path: string, text: string, parser: string): Promise<void> {
  await writeFile(path, await format(text, { ...(await resolveConfig(path)), parser }));
}

function page(rows: ReadonlyMap<string, Row>, limits: string): string {
  const lines = MUTATIONS.map(({ name, what }) => {
    const row = rows.get(name);
    const { where, fault } = row?.found ?? {
      where: row ? '**survived**' : '**not run yet**',
      fault: '',
    };
    const cells = [`\`${name}\``, what, where, fault, row?.ranAt ?? ''];
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  });
  return `# Seeded bugs, and what found them

Written by \`npm run test:races -- --mutations\`; each row is from its latest run. Each bug is planted in the
sources while a test loads them (\`test/explorer/mutations.cjs\`); nothing of it is in the build. Some
mechanisms have a test of their own that has to fail. For the others the race explorer runs
${limits} (200 orders, three workers, their alarms), or as many as random ones of a desk (operators at work, refunds that fail),
of a shop with an orders table of its own, or of one whose endpoints fail. See one again with
\`RACES_MUTATION=<name> npm run test:races -- [--crowds|--desk|--targets|--endpoints] --seed <seed>\`.

| bug | | found by | first fault | run |
| --- | --- | --- | --- | --- |
${lines.join('\n')}
`;
}
