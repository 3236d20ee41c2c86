import { fittedWidths, naturalWidths, shortened } from './fit';

const ID = '0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f';
const GREEN = `${String.fromCharCode(27)}[32mpaid${String.fromCharCode(27)}[39m`;

describe('fittedWidths', () => {
  it('leaves a table that fits as it is, colours not counted', () => {
    expect(fittedWidths(['ID', 'STATUS'], [[ID, GREEN]], 80)).toEqual([36, 6]);
    expect(naturalWidths([''], [[GREEN]])).toEqual([4]);
  });

  it('cuts the widest words first, and never an id, an instant or an amount', () => {
    const row = [
      ID,
      'a long reason that goes on and on',
      'a shorter one',
      '2026-05-01T10:00:00.000Z',
    ];
    expect(fittedWidths(['ID', 'WHY', 'BY', 'AT'], [row], 36 + 24 + 26)).toEqual([36, 13, 13, 24]);
    expect(fittedWidths(['AMOUNT', 'WHY'], [['12,345.67 EUR', 'because of this']], 23)).toEqual([
      13, 10,
    ]);
  });

  it('counts the columns of a terminal: two of a wide character or an emoji, none of an accent', () => {
    expect(naturalWidths(['', '', ''], [['日本茶', 'The\u0301', '👩‍👩‍👧 🍵']])).toEqual([6, 3, 5]);
    expect(fittedWidths(['NAME', 'AT'], [['日本茶と急須', '2026-05-01']], 21)).toEqual([11, 10]);
  });

  it('gives up where what has to be whole is too wide', () => {
    expect(fittedWidths(['ID', 'ORDER'], [[ID, ID]], 60)).toBeUndefined();
  });
});

describe('shortened', () => {
  it('leaves of an instant how far off it is, and other words as they are', () => {
    const escape = String.fromCharCode(27);
    expect(shortened(`2026-05-01T10:00:00.000Z ${escape}[2m(3 min ago)${escape}[22m`)).toBe(
      '3 min ago',
    );
    expect(shortened('2026-05-01T10:00:00.000Z')).toBe('2026-05-01T10:00:00.000Z');
    expect(shortened('operator (eve)')).toBe('operator (eve)');
  });
});
