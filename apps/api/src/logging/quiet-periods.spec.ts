import { QuietPeriods } from './quiet-periods';

describe('QuietPeriods', () => {
  it('lets a subject speak once a period, and says how often it was kept quiet', () => {
    let now = 0;
    const quiet = new QuietPeriods(() => now);
    expect(quiet.unsaidBefore('redis')).toBe(0);
    expect(quiet.unsaidBefore('redis')).toBeUndefined();
    expect(quiet.unsaidBefore('redis')).toBeUndefined();
    expect(quiet.unsaidBefore('postgres')).toBe(0);
    now += 5_000;
    expect(quiet.unsaidBefore('redis')).toBe(2);
    expect(quiet.unsaidBefore('redis')).toBeUndefined();
  });
});
