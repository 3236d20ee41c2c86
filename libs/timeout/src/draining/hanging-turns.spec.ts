import { HangingTurns } from './hanging-turns';

describe('turns that sessions have which hang', () => {
  let nowMs = 0;
  let asked = 0;
  let underWay = { goingOn: 0, hanging: 0 };
  let turns: HangingTurns;
  beforeEach(() => {
    [nowMs, asked] = [100_000, 0];
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    turns = new HangingTurns(() => {
      asked += 1;
      return Promise.resolve(underWay);
    });
  });
  afterEach(() => jest.restoreAllMocks());

  it('are asked about once a second, and not by who had one just now', async () => {
    underWay = { goingOn: 2, hanging: 0 };
    turns.had();
    for (const [afterMs, times] of [
      [999, 0],
      [1, 1],
      [999, 1],
      [1, 2],
    ] as const) {
      nowMs += afterMs;
      expect(await turns.areTaken()).toBe(false);
      expect(asked).toBe(times);
    }
    expect(turns.beside(2)).toBe(0);
  });

  it('have as many beside them, but no more than there are', async () => {
    underWay = { goingOn: 1, hanging: 1 };
    expect(await turns.areTaken()).toBe(true);
    expect([turns.beside(1), turns.beside(2)]).toEqual([1, 1]);
    underWay = { goingOn: 0, hanging: 3 };
    nowMs += 1_000;
    expect(await turns.areTaken()).toBe(true);
    expect([turns.beside(1), turns.beside(2), turns.beside(4)]).toEqual([1, 2, 3]);
  });

  it('are asked about again after two seconds, at once, also by who had another', async () => {
    underWay = { goingOn: 0, hanging: 1 };
    await turns.areTaken();
    nowMs += 1_999;
    turns.had();
    expect(await turns.areTaken()).toBe(true);
    expect([asked, turns.beside(1)]).toEqual([1, 1]);
    nowMs += 1;
    expect(turns.beside(1)).toBe(0);
    expect(await turns.areTaken()).toBe(true);
    expect([asked, turns.beside(1)]).toEqual([2, 1]);
    nowMs += 2_000;
    underWay = { goingOn: 1, hanging: 0 };
    turns.had();
    expect(await turns.areTaken()).toBe(false);
    expect([asked, turns.beside(1)]).toEqual([3, 0]);
    turns.had();
    nowMs += 500;
    expect(await turns.areTaken()).toBe(false);
    expect(asked).toBe(3);
  });
});
