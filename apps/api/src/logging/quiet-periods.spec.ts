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

  it('lets few speak where very many have something to say, and counts all that is unsaid', () => {
    let now = 0;
    const quiet = new QuietPeriods(() => now);
    const speak = (subjects: number) => {
      let [lines, unsaid] = [0, 0];
      for (let i = 0; i < subjects; i++) {
        const before = quiet.unsaidBefore(`denied 2001:db8:${i.toString(16)}::/64`);
        if (before === undefined) continue;
        lines += 1;
        unsaid += before;
      }
      return { lines, unsaid };
    };
    expect(speak(10_000)).toEqual({ lines: 201, unsaid: 0 });
    expect(speak(10_000)).toEqual({ lines: 0, unsaid: 0 });
    now += 5_000;
    expect(speak(10_000)).toEqual({ lines: 201, unsaid: 20_000 - 201 });
    now += 5_000;
    expect(quiet.unsaidBefore('redis')).toBe(0);
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
