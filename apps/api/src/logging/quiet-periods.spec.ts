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

  it('is quiet for no longer than a period, whatever is done to the clock', () => {
    const quiet = new QuietPeriods();
    const wall = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 86_400_000);
    const elapsed = jest.spyOn(performance, 'now').mockReturnValue(1_000);
    expect(quiet.unsaidBefore('redis')).toBe(0);
    wall.mockRestore();
    elapsed.mockReturnValue(6_000);
    expect(quiet.unsaidBefore('redis')).toBe(0);
    elapsed.mockRestore();
  });
});
