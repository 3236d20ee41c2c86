import { isPlainText } from '@app/orders';
import { printable, printableCell, printableJson, printableLines } from './printable';

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

it('is one rule: what is refused as input is what is never printed, for every character', () => {
  const differing: number[] = [];
  for (let code = 0; code <= 0x10ffff; code += 1) {
    const character = String.fromCodePoint(code);
    if (isPlainText(character) !== (printableLines(character) === character)) differing.push(code);
  }
  expect(differing).toEqual([]);
});

it.each(HOSTILE)('prints %j as JSON that nothing acts on, and that is the same', (text) => {
  const json = printableJson({ text, lines: 'a\nb' }, 2);
  expect(isPlainText(json)).toBe(true);
  expect(JSON.parse(json)).toEqual({ text, lines: 'a\nb' });
});

it('lets our own colours pass, and no others', () => {
  const [red, plain, hidden] = ['\u001b[31m', '\u001b[39m', '\u001b[8m'];
  expect(printableLines(`${red}bad${plain}\nnext`)).toBe(`${red}bad${plain}\nnext`);
  expect(printableCell(`${red}${hidden}\n${plain}`)).toBe(`${red}\\u001b[8m\\u000a${plain}`);
});

it('prints line breaks in sight, so that no row can be made up', () => {
  expect(printable('a\nb')).toBe('a\\u000ab');
  expect(printable('Grüße 🙂')).toBe('Grüße 🙂');
});
