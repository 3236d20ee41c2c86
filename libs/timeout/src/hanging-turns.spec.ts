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

  it('are asked about once a second by who waits, and not by who had one', async () => {
    underWay = { goingOn: 2, hanging: 0 };
    for (let n = 0; n < 12; n++) await turns.waited(80);
    expect(asked).toBe(0);
    turns.had();
    for (let n = 0; n < 12; n++) await turns.waited(80);
    expect(asked).toBe(0);
    expect(await turns.waited(80)).toBe(false);
    expect(asked).toBe(1);
    expect(turns.beside(2)).toBe(0);
  });

  it('have as many beside them, but no more than there are', async () => {
    underWay = { goingOn: 1, hanging: 1 };
    expect(await turns.waited(1_000)).toBe(false);
    expect([turns.beside(1), turns.beside(2)]).toEqual([1, 1]);
    underWay = { goingOn: 0, hanging: 3 };
    expect(await turns.waited(1_000)).toBe(true);
    expect([turns.beside(1), turns.beside(2), turns.beside(4)]).toEqual([1, 2, 3]);
  });

  it('are asked about again after five seconds, at once', async () => {
    underWay = { goingOn: 0, hanging: 1 };
    await turns.waited(1_000);
    nowMs += 4_999;
    await turns.waited(10);
    expect([asked, turns.beside(1)]).toEqual([1, 1]);
    nowMs += 1;
    expect(turns.beside(1)).toBe(0);
    await turns.waited(10);
    expect([asked, turns.beside(1)]).toEqual([2, 1]);
    nowMs += 5_000;
    underWay = { goingOn: 1, hanging: 0 };
    await turns.waited(10);
    expect([asked, turns.beside(1)]).toEqual([3, 0]);
    nowMs += 5_000;
    await turns.waited(10);
    expect(asked).toBe(3);
  });
});
