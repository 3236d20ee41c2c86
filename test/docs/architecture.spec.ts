import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEADLINE_KINDS, TRANSITIONS } from '@app/orders';

const ROOT = join(__dirname, '../..');
const text = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8');

/** What stands in backticks and looks like a path from the project's folder. */
const paths = [...text.matchAll(/`((?:apps|libs|test|docs|scripts|bench)\/[\w./-]+)`/g)].map(
  (match) => match[1] as string,
);

describe('docs/threat-model.md', () => {
  it('names tests that exist', () => {
    const model = readFileSync(join(ROOT, 'docs/threat-model.md'), 'utf8');
    const tests = [...model.matchAll(/`((?:apps|libs|test|scripts|docker)\/[\w./-]+)`/g)].map(
      (match) => match[1] as string,
    );
    expect(tests.length).toBeGreaterThan(50);
    expect(tests.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});

describe('docs/architecture.md', () => {
  it('names files that exist', () => {
    expect(paths.length).toBeGreaterThan(50);
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('names each kind of deadline with its handler', () => {
    const rows = [...text.matchAll(/^\| `(\w+)` .*\/(\w+)\.deadline\.ts` +\|$/gm)];
    expect(rows.map((row) => row[1])).toEqual(DEADLINE_KINDS);
    expect(rows.map((row) => row[2])).toEqual(DEADLINE_KINDS);
  });

  it('draws the changes of status there are', () => {
    const drawn = [...text.matchAll(/^ {2}(\w+) --> (\w+):/gm)].map((arrow) => arrow.slice(1, 3));
    const known = Object.entries(TRANSITIONS).flatMap(([from, exits]) =>
      Object.keys(exits).map((to) => [from, to]),
    );
    expect(drawn.sort()).toEqual(known.sort());
  });

  it.each([
    ['orders', 0, ['migrations']],
    ['timeout', 1, ['drivers', 'locks', 'migrations', 'testing']],
  ])('has a row for each room of libs/%s', (library, nth, others) => {
    const folders = readdirSync(join(ROOT, 'libs', library, 'src'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !others.includes(entry.name))
      .map(({ name }) => name);
    const table = text.split(/^\| floor \| room .*$/m)[nth + 1]?.split('\n\n')[0] ?? '';
    const rooms = [...table.matchAll(/^\| \d +\| `(\w+)\/`/gm)].map((row) => row[1]);
    expect(rooms.sort()).toEqual(folders.sort());
  });
});
