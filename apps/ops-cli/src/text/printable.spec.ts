import { isPlainText } from '@app/orders';
import { printable } from './printable';

const HOSTILE = [
  '\u001b[2J\u001b[H',
  '\u001b]0;title\u0007',
  'a\rb',
  'nul\0',
  '\u009b31m',
  'abc\u202edcba',
  '\u2066x\u2069',
  'in\u200bvisible',
  '\ud800',
  '\u2028',
];

it.each(HOSTILE)('refuses %j, and prints it so that nothing acts on it', (text) => {
  expect(isPlainText(text)).toBe(false);
  expect(isPlainText(printable(text))).toBe(true);
  expect(printable(text)).toMatch(/\\u[0-9a-f]{4}/);
});

it.each(['Grüße, 你好', 'two\nlines', 'a\ttab', '👩‍👩‍👧 and 🙂'])('takes %j', (text) => {
  expect(isPlainText(text)).toBe(true);
});

it('prints line breaks in sight, so that no row can be made up', () => {
  expect(printable('a\nb')).toBe('a\\u000ab');
  expect(printable('Grüße 🙂')).toBe('Grüße 🙂');
});
