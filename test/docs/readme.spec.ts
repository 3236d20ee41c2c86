import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withSummary } from '../../bench/summary';
import type { Measured } from '../../bench/report';

const ROOT = join(__dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const readme = read('README.md');

describe('README.md', () => {
  it('has the figures of the last benchmarks', () => {
    const kept = JSON.parse(read('docs/generated/benchmarks.json')) as Record<string, Measured>;
    expect(readme).toBe(withSummary(readme, kept));
  });

  it('starts an example beside npm start on a port that npm start has not taken', () => {
    const started = [...read('scripts/launcher/run-settings.mjs').matchAll(/standard: (\d+)/g)];
    const taken = started.map(([, port]) => port);
    expect(taken).toHaveLength(2);
    const [, beside] = /`PORT=(\d+) npm run example/.exec(readme) ?? [];
    expect(beside).toMatch(/^\d+$/);
    expect(taken).not.toContain(beside);
  });

  // What it does is shown by `npm run test:readme`.
  it('has a first order that an interactive zsh and fish take: no comments, no bare assignments', () => {
    const block = /^## A first order$[^]*?^```sh\n([^]*?)^```$/m.exec(readme)?.[1] ?? '';
    expect(block).toContain('npx lastcall token');
    expect(block).not.toMatch(/(^|\s)#/m);
    expect(block).not.toMatch(/^[A-Z]+=/m);
  });
});
