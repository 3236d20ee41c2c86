import { givenFlags } from './given-flags';

describe('the flags of a command that is gone on with', () => {
  it.each([
    ['are none where none were given', [], ''],
    ['are as they were typed', ['--dry-run', '--rate', '100', '-y'], ' --dry-run --rate 100 -y'],
    ['are words of a shell', ['--reason', "mia's case 9"], ` --reason 'mia'\\''s case 9'`],
    ['are not those that are given anew', ['--resume', 'a/b', '--fix', '--since=7d'], ' --fix'],
    ['do not say how the result is printed', ['--json', '--fix'], ' --fix'],
    [
      'keep a value that looks as a flag',
      ['--reason', '--fix', '--resume', '--json'],
      ' --reason --fix',
    ],
    ['are cut where nobody wants to read them', ['--from-query', 'SELECT\n1'], ' --from-query ...'],
    ['are cut where they are long', [`--from-query=${'x'.repeat(200)}`], ' --from-query=...'],
  ])('%s', (_, argv, expected) => {
    expect(givenFlags(argv, ['--resume', '--since'])).toBe(expected);
  });
});
