import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const PROJECT = join(__dirname, '..');
const BUILD = join(PROJECT, 'dist/web');
const MESSAGES = join(PROJECT, 'apps/web/messages');

/** What a buyer or an operator loads before anything works, in kilobytes as they travel. */
describe('the build of the pages', () => {
  it.each([
    ['checkout', 15],
    ['console', 45],
  ])('keeps the %s within %i kB', (page, budgetKb) => {
    const files = readdirSync(BUILD).filter((name) => name.startsWith(`${page}-`));
    expect(files).toHaveLength(2);
    const bytes = files.map(
      (name) => gzipSync(readFileSync(join(BUILD, name)), { level: 9 }).length,
    );
    expect(bytes.reduce((sum, one) => sum + one)).toBeLessThanOrEqual(budgetKb * 1_000);
  });

  it('has every text in every language', () => {
    const keysOf = (name: string): string[] =>
      Object.keys(JSON.parse(readFileSync(join(MESSAGES, name), 'utf8')) as object).sort();
    const languages = readdirSync(MESSAGES);
    expect(languages.length).toBeGreaterThanOrEqual(4);
    for (const name of languages) expect(keysOf(name)).toEqual(keysOf('en.json'));
  });
});
