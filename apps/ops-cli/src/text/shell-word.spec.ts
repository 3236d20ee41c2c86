import { execFileSync } from 'node:child_process';
import { shellWord } from './shell-word';

it.each(['order-4711', "it's", '["a\'b","2026-01-01T00:00:00Z"]', '$HOME `id` \\ "x"', ''])(
  'is read by a shell as it was: %j',
  (text) => {
    const read = execFileSync('sh', ['-c', `printf %s ${shellWord(text)}`], { encoding: 'utf8' });
    expect(read).toBe(text);
  },
);

it('is as it is where it needs no quotes', () => {
  expect(shellWord('order-4711')).toBe('order-4711');
});
