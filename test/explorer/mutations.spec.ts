import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MUTATIONS } from './mutations.cjs';

const ROOT = join(__dirname, '../..');
const edits = MUTATIONS.flatMap(({ name, edits }) => edits.map((edit) => ({ name, ...edit })));

describe('the seeded bugs', () => {
  it.each(edits)('$name: its text stands exactly once in $file', ({ file, find, replace }) => {
    const source = readFileSync(join(ROOT, file), 'utf8');
    expect(source.split(find)).toHaveLength(2);
    expect(replace).not.toBe(find);
  });

  it('are looked for by tests that there are', () => {
    const specs = MUTATIONS.flatMap(({ spec }) => (spec === undefined ? [] : [spec]));
    expect(specs.filter((spec) => !existsSync(join(ROOT, spec)))).toEqual([]);
  });

  it('have names of their own', () => {
    const names = MUTATIONS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});
