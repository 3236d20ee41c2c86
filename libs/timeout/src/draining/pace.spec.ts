import { Pace, paceDefaults } from './pace';

const MAX = 4_000;

/** In a round of what is due now. */
function newPace(max = MAX, othersWaitMs = (): number => 0): Pace {
  const pace = new Pace(max, paceDefaults, othersWaitMs);
  pace.claimed(20);
  return pace;
}

/** A full batch took so long. */
function took(pace: Pace, tookMs: number): void {
  const plan = pace.plan();
  pace.took(plan, plan.limit, tookMs);
}

/** What the size becomes after batches that each took so long for each subject. */
function steered(msEach: readonly number[], max = MAX): number {
  const pace = newPace(max);
  for (const each of msEach) took(pace, pace.plan().limit * each);
  return pace.plan().limit;
}

describe('the size of a batch', () => {
  it('grows fourfold at the most, up to its bound, while batches are quick', () => {
    const quick = Array<number>(5).fill(0.001);
    expect([0, 1, 2, 5].map((n) => steered(quick.slice(0, n)))).toEqual([500, 2_000, 4_000, 4_000]);
    expect(steered(quick, 200)).toBe(200);
  });

  it('comes to what takes as long as wanted', () => {
    expect(steered(Array<number>(10).fill(0.1))).toBe(2_000);
  });

  it('halves at the most, and stays worth its while', () => {
    expect(steered([0.001, 0.001, 0.001, 10])).toBe(2_000);
    expect(steered([0.001, 0.001, 0.001, 10, 10, 10, 10])).toBe(500);
  });

  it('learns nothing from a batch that was not full', () => {
    const pace = newPace();
    pace.took(pace.plan(), 499, 1);
    expect(pace.plan().limit).toBe(500);
  });

  it('becomes a quarter after a failure, down to one, and grows again', () => {
    const pace = newPace();
    const seen = Array.from({ length: 6 }, () => {
      pace.failed(pace.plan().limit);
      return pace.plan().limit;
    });
    expect(seen).toEqual([125, 31, 7, 1, 1, 1]);
    took(pace, 0.001);
    expect(pace.plan().limit).toBe(4);
  });
});

describe('a round', () => {
  it('begins with a small batch, as nobody knows how late it is, and goes on as large as ever', () => {
    const pace = newPace();
    for (let n = 0; n < 3; n++) took(pace, 1);
    pace.roundBegins();
    expect(pace.plan()).toMatchObject({ limit: 500, drainers: 2, restMs: 0 });
    pace.claimed(20);
    pace.took({ ...pace.plan(), limit: 500, isSmall: true }, 500, 200);
    expect(pace.plan()).toMatchObject({ limit: 4_000, drainers: 2, restMs: 0 });
  });
});

describe('giving way', () => {
  /** A round that found its oldest so late, while others wait so long for their answers. */
  const round = (oldestLagMs: number, waits: number | (() => number)): Pace => {
    const pace = newPace(MAX, typeof waits === 'number' ? () => waits : waits);
    for (let n = 0; n < 4; n++) took(pace, 100);
    pace.roundBegins();
    pace.claimed(oldestLagMs);
    return pace;
  };
  const FULL = { limit: 4_000, drainers: 2, restMs: 0, givesWay: false, isSmall: false };

  it('leaves half of the time to others who feel it: one drainer, small batches, rests', () => {
    const pace = round(3_600_000, 50);
    expect(pace.plan()).toMatchObject({ limit: 1_000, drainers: 1, restMs: 100, givesWay: true });
    took(pace, 70);
    expect(pace.plan().restMs).toBe(70);
    took(pace, 3_000);
    expect(pace.plan().restMs).toBe(200);
  });

  it('leaves what is late one drainer where others are there, who do not feel it', () => {
    const alone = { limit: 1_000, drainers: 1, restMs: 0, givesWay: false };
    expect(round(3_600_000, 49).plan()).toMatchObject(alone);
  });

  it('is for nobody who is not there: small batches, by all drainers, once they have been asked', () => {
    const pace = round(3_600_000, 0);
    let batches = 0;
    for (; pace.plan().drainers === 1; batches++) took(pace, 10);
    expect(batches).toBe(20);
    expect(pace.plan()).toMatchObject({ limit: 1_000, restMs: 0, givesWay: false });
  });

  it('goes on for a while after others have felt it, as nobody feels it meanwhile', () => {
    let othersWaitMs = 50;
    const pace = round(3_600_000, () => othersWaitMs);
    expect(pace.plan().givesWay).toBe(true);
    othersWaitMs = 1;
    let batches = 0;
    for (; pace.plan().givesWay; batches++) took(pace, 10);
    expect(batches).toBe(20);
    expect(pace.plan()).toMatchObject({ limit: 1_000, drainers: 1 });
  });

  it('is worth a loan of a batch at least', () => {
    expect(round(3_999, 10_000).plan()).toEqual({ ...FULL, drainers: 1 });
    expect(round(4_000, 10_000).plan().givesWay).toBe(true);
  });

  it('costs less than it takes where it is only one drainer, or only small batches', () => {
    const pace = round(60_000, 0);
    let spentMs = 0;
    for (; pace.plan().isSmall; spentMs += 30) took(pace, 30);
    // Two thirds of the first twenty, a third of the rest.
    expect(spentMs).toBe(20 * 30 + 3 * (3_000 - 400));
  });

  it('is not for what is due now, however long others wait and the burst lasts', () => {
    const pace = round(20, 10_000);
    let slowMs = 0;
    for (let batch = 0; batch < 1_000; batch++) {
      const plan = pace.plan();
      if (plan.givesWay) slowMs += plan.restMs + 100;
      // By its end, what is claimed is late by minutes.
      pace.claimed(20 + batch * 100);
      pace.took(plan, plan.limit, 100);
    }
    expect(slowMs).toBeLessThanOrEqual(200);
  });

  it('makes a backlog later by a twentieth at the most, then it hurries until all is done', () => {
    const pace = round(60_000, 10_000);
    let spentMs = 0;
    for (let plan = pace.plan(); plan.givesWay; plan = pace.plan()) {
      pace.took(plan, plan.limit, 100);
      spentMs += plan.restMs + 100;
    }
    expect(spentMs).toBeGreaterThanOrEqual(3_000);
    expect(spentMs).toBeLessThan(3_300);
    pace.claimed(600_000);
    expect(pace.plan()).toEqual(FULL);
  });

  it('is lent to the next backlog again, and to one that is later for another reason', () => {
    const pace = round(60_000, 10_000);
    const lent = (): number => {
      let spentMs = 0;
      for (let plan = pace.plan(); plan.givesWay; plan = pace.plan()) {
        pace.took(plan, plan.limit, 100);
        spentMs += plan.restMs + 100;
      }
      return Math.round(spentMs / 300) * 300;
    };
    const next = (oldestLagMs: number): number => {
      pace.roundBegins();
      pace.claimed(oldestLagMs);
      return lent();
    };
    expect([lent(), next(60_000), next(120_000), next(120_000)]).toEqual([3_000, 0, 3_000, 0]);
    pace.caughtUp();
    expect(next(60_000)).toBe(3_000);
  });

  it('does not make batches smaller for when it is over', () => {
    const pace = round(60_000, 10_000);
    while (pace.plan().givesWay) took(pace, 200);
    expect(pace.plan().limit).toBe(4_000);
  });
});

describe('a herd that is due now', () => {
  const herd = (waitMs: number | (() => number), drainers = 4): Pace => {
    const ask = typeof waitMs === 'number' ? () => waitMs : waitMs;
    const pace = new Pace(MAX, { ...paceDefaults, drainers }, ask);
    pace.claimed(20);
    return pace;
  };

  it('leaves others a core, and one drainer works at least', () => {
    expect(herd(1).plan()).toMatchObject({ drainers: 3, restMs: 0, givesWay: false, limit: 500 });
    expect(herd(10_000, 1).plan()).toMatchObject({ drainers: 1, restMs: 0, givesWay: false });
  });

  it('takes all where nobody is there, and once nobody has been there for a while', () => {
    expect(herd(0).plan().drainers).toBe(4);
    let waitMs = 1;
    const pace = herd(() => waitMs);
    expect(pace.plan().drainers).toBe(3);
    waitMs = 0;
    let batches = 0;
    for (; pace.plan().drainers === 3; batches++) took(pace, 10);
    expect(batches).toBe(20);
  });

  it('does so for two seconds, in however many rounds, and then again once all is done', () => {
    const pace = herd(1, 5);
    const courteousMs = (): number => {
      let spentMs = 0;
      for (; pace.plan().drainers === 4 && spentMs < 10_000; spentMs += 100) {
        // At the same time.
        for (let drainer = 0; drainer < 4; drainer++) took(pace, 100);
        pace.roundBegins();
        pace.claimed(200);
      }
      return spentMs;
    };
    expect([courteousMs(), courteousMs()]).toEqual([2_000, 0]);
    pace.caughtUp();
    expect(courteousMs()).toBe(2_000);
  });
});

describe('a rate that leaves little to spare', () => {
  /** A fifth of two seconds: so late it comes to be, again and again, while customers are left a core. */
  const COURTESY_MS = 400;

  /**
   * Steps of 100 ms: so many come due, and so much of the capacity is left to drain. Answers with
   * how late the oldest is as time goes by. Others wait long all the time. A round goes on until nothing
   * is left, or each step is one.
   */
  function lagsAfter(pauseMs: number, share: number, lastMs: number, isEach = false): number[] {
    const pace = newPace(MAX, () => 10_000);
    let doneUntilMs = 0;
    const lags: number[] = [];
    for (let nowMs = pauseMs; nowMs < pauseMs + lastMs; nowMs += 100) {
      const isDone = doneUntilMs >= nowMs - 100;
      if (isDone) pace.caughtUp();
      if (isDone || isEach) pace.roundBegins();
      pace.claimed(nowMs - doneUntilMs);
      const plan = pace.plan();
      // One drainer that rests half of the time does a quarter of what two can, one that does not most of it.
      const ofAll = plan.drainers === 2 ? 1 : plan.givesWay ? 0.25 : 0.8;
      const done = (100 / share) * ofAll;
      doneUntilMs = Math.min(nowMs, doneUntilMs + done);
      pace.took({ ...plan, restMs: plan.givesWay ? 50 : 0 }, plan.limit, plan.givesWay ? 50 : 100);
      lags.push(nowMs - doneUntilMs);
    }
    return lags;
  }

  it.each([
    [0.7, 1_000],
    [0.7, 60_000],
    [0.9, 60_000],
  ])('of %s comes down again after a pause of %s ms', (share, pauseMs) => {
    // What nobody can beat: the pause's work, by what is left of the capacity.
    const bestMs = (pauseMs * share) / (1 - share);
    const lags = lagsAfter(pauseMs, share, 1.3 * bestMs + 1_000);
    expect(lags.at(-1)).toBeLessThan(COURTESY_MS);
  });

  it.each([
    [0.7, 60_000],
    [0.9, 60_000],
  ])('of %s comes down from %s ms though rounds end early, each by a failure', (share, pauseMs) => {
    const bestMs = (pauseMs * share) / (1 - share);
    const lags = lagsAfter(pauseMs, share, 1.3 * bestMs + 1_000, true);
    expect(lags.at(-1)).toBeLessThan(COURTESY_MS);
  });
});
