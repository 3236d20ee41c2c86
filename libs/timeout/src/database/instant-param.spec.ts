import { instantParam } from './instant-param';

describe('instantParam', () => {
  it('says instants as they are, in whichever zone', () => {
    for (const at of ['0001-01-01T00:00:00.000Z', '1969-12-31T23:59:59.999Z']) {
      expect(instantParam(Date.parse(at))).toBe(at);
    }
  });

  it('says what lies outside the years 1 to 9999 as before or after all', () => {
    const outside = [-Infinity, Date.parse('0000-12-31'), Date.parse('+010000-01-01'), Infinity];
    expect(outside.map(instantParam)).toEqual(['-infinity', '-infinity', 'infinity', 'infinity']);
  });
});
