import { assertSound } from './sound-deadline';

describe('assertSound', () => {
  it.each<[string, object, string]>([
    ['no subject', { subjectId: '' }, 'no subjectId'],
    ['a number', { subjectId: 7 }, 'subjectId is a number'],
    ['a NUL', { subjectId: 'a\0b' }, 'subjectId has a character that Postgres does not keep'],
    ['half a character', { subjectId: '\uD800' }, 'subjectId has a character that Postgres'],
    [
      'a long subject',
      { subjectId: 'ü'.repeat(1_001) },
      'subjectId has 2002 bytes: 2000 are the most',
    ],
    ['a long kind', { kind: 'k'.repeat(501) }, 'kind has 501 bytes: 500 are the most'],
    ['a date that is none', { dueAt: new Date('x') }, 'no valid Date'],
    ['one before our time', { dueAt: new Date('0000-12-31T23:59:59Z') }, 'years 1 to 9999'],
    ['one far behind it', { dueAt: new Date(8.64e15) }, 'years 1 to 9999'],
  ])('names what is wrong with a deadline: %s', (_, wrong, why) => {
    const good = { kind: 'trial-end', subjectId: 'good', dueAt: new Date() };
    expect(() => assertSound(good)).not.toThrow();
    const check = () => assertSound({ ...good, ...wrong });
    expect(check).toThrow(TypeError);
    expect(check).toThrow(why);
  });
});
