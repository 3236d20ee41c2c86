import type { DueDeadline } from '../deadlines/deadline-handler';
import { FailureRates } from './failure-rates';
import { type ApartOptions, handleApart } from './handle-apart';
import { HandlerFaultError, MANY } from './handled-apart';
import { subjectNamedBy } from './subject-failure';
import { subject } from '../testing/deadline-store';

const dueOf = (count: number): DueDeadline[] =>
  Array.from({ length: count }, (_, index) => ({
    ...{ kind: 'payment', subjectId: subject(index), version: 1, failures: 0 },
    dueAt: new Date(0),
  }));

const isPoison = (share: number) => {
  const every = Math.round(1 / share);
  return ({ subjectId }: DueDeadline): boolean => Number(subjectId.slice(-12)) % every === 0;
};

/** As TypeORM hands on what Postgres says of a broken constraint. */
function violationBy(id: string): Error {
  const detail = `Failing row contains (${id}, null).`;
  return Object.assign(new Error('poison'), { driverError: { detail } });
}

/** A batch of which some are poison, and what handling it took. */
async function handled(
  count: number,
  poison: (one: DueDeadline) => boolean,
  { isJudged = true, rates = new FailureRates(), isNamed = false } = {},
) {
  const pieces: number[] = [];
  const done: DueDeadline[] = [];
  const result = await handleApart(
    dueOf(count),
    async (piece) => {
      pieces.push(piece.length);
      const bad = piece.find(poison);
      if (bad && isNamed) throw violationBy(bad.subjectId);
      if (bad) throw new Error('poison');
      done.push(...piece);
      return { changed: piece.length, lost: 0 };
    },
    {
      ...{ rates, isJudged, suspectOf: subjectNamedBy },
      isSubjectsFault: (error) => (error as Error).message === 'poison',
    },
  );
  return { result, done, pieces, rates };
}

/** Pieces are taken at random: what one run needs is luck, what so many need is not. */
const RUNS = 40;
const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

describe('a batch in pieces', () => {
  it.each([0.001, 0.02, 0.2, 0.5])(
    'finds those to blame, %s of all, and no others',
    async (share) => {
      const poison = isPoison(share);
      // Where half of them fail the first eight may do so by chance, which would speak against the handler.
      const { result, done } = await handled(1_000, poison, { isJudged: false });
      const failed = dueOf(1_000).filter(poison).length;
      expect(result.failed.every(({ due }) => poison(due))).toBe(true);
      expect(result).toMatchObject({ changed: 1_000 - failed, lost: 0, putBack: [] });
      expect(new Set(result.failed.map(({ due }) => due.subjectId)).size).toBe(failed);
      expect(new Set(done.map(({ subjectId }) => subjectId)).size).toBe(1_000 - failed);
    },
  );

  it('needs few tries, and fewer once it knows how many fail', async () => {
    // What nobody can beat are 0.14 for each of them at 2%.
    const [first, second] = [[] as number[], [] as number[]];
    for (let run = 0; run < RUNS; run++) {
      const { pieces, rates } = await handled(1_000, isPoison(0.02));
      first.push(pieces.length);
      second.push((await handled(1_000, isPoison(0.02), { rates })).pieces.length);
    }
    expect(mean(first)).toBeLessThan(200);
    expect(mean(second)).toBeLessThan(mean(first));
  });

  it('goes straight to the one that an error names', async () => {
    const poison = isPoison(0.02);
    const tries: number[] = [];
    for (let run = 0; run < RUNS; run++) {
      const { result, pieces } = await handled(1_000, poison, { isNamed: true });
      expect(result.failed.map(({ due }) => due).every(poison)).toBe(true);
      expect(result.changed).toBe(980);
      tries.push(pieces.length);
    }
    expect(mean(tries)).toBeLessThan(100);
  });

  it('finds several of a piece by a try each, once names have proved to be right', async () => {
    const poison = isPoison(0.02);
    const [rates, tries] = [new FailureRates(), [] as number[]];
    for (let run = 0; run < RUNS; run++) {
      const { result, pieces } = await handled(1_000, poison, { isNamed: true, rates });
      expect(result.failed.map(({ due }) => due).filter(poison)).toHaveLength(20);
      expect(result.changed).toBe(980);
      tries.push(pieces.length);
    }
    // Less than two for each, those that succeed included: it was 3.5.
    expect(mean(tries.slice(RUNS / 2))).toBeLessThan(46);
  });

  it('blames nobody who is named where a piece fails for its size', async () => {
    const rates = new FailureRates();
    const handle = () =>
      handleApart(
        dueOf(1_000),
        (piece) => {
          const [first] = piece;
          if (piece.length > 20 && first) throw violationBy(first.subjectId);
          return Promise.resolve({ changed: piece.length, lost: 0 });
        },
        {
          ...{ rates, isJudged: true },
          ...{ isSubjectsFault: () => true, suspectOf: subjectNamedBy },
        },
      );
    for (let run = 0; run < RUNS; run++) {
      expect(await handle()).toMatchObject({ changed: 1_000, failed: [], left: [] });
    }
  });

  it('does not judge the handler by those that errors name, where far more fail than before', async () => {
    for (let run = 0; run < RUNS; run++) {
      const rates = new FailureRates();
      Object.assign(rates.fresh, { failed: 1, succeeded: 5_000 });
      const { result } = await handled(1_000, isPoison(0.02), { isNamed: true, rates });
      expect(result).toMatchObject({ changed: 980 });
    }
  });

  it('judges a handler that names each and fails for all', async () => {
    const rates = new FailureRates();
    Object.assign(rates.fresh, { failed: 1, succeeded: 5_000 });
    const all = (): boolean => true;
    await expect(handled(1_000, all, { isNamed: true, rates })).rejects.toThrow(HandlerFaultError);
  });

  it('blames nobody for being named', async () => {
    const poison = isPoison(0.02);
    const misled = dueOf(1_000).find((one) => !poison(one)) as DueDeadline;
    const result = await handleApart(
      dueOf(1_000),
      async (piece) => {
        if (piece.some(poison)) throw violationBy(misled.subjectId);
        return { changed: piece.length, lost: 0 };
      },
      {
        ...{ rates: new FailureRates(), isJudged: true },
        ...{ isSubjectsFault: () => true, suspectOf: subjectNamedBy },
      },
    );
    expect(result.changed).toBe(980);
    expect(result.failed.map(({ due }) => due).every(poison)).toBe(true);
  });

  it('tries those that have failed before by themselves, and alone as long as they fail', async () => {
    const worn = dueOf(60).map((one, n) => (n % 3 === 0 ? { ...one, failures: 1 } : one));
    const pieces: number[] = [];
    const isWorn = ({ failures }: DueDeadline): boolean => failures > 0;
    const rates = new FailureRates();
    const handle = () =>
      handleApart(
        worn,
        async (piece) => {
          pieces.push(piece.length);
          if (piece.some(isWorn)) throw new Error('poison');
          return { changed: piece.length, lost: 0 };
        },
        { rates, isJudged: true, isSubjectsFault: () => true },
      );
    expect((await handle()).failed).toHaveLength(20);
    expect(pieces).toEqual([20, 20, ...Array<number>(20).fill(1)]);
  });

  it('is one or two pieces where hardly any fail', async () => {
    const rates = new FailureRates();
    Object.assign(rates.fresh, { failed: 1, succeeded: 5_000 });
    expect((await handled(1_000, () => false, { rates })).pieces).toEqual([1_000]);
  });

  it('blames nobody who succeeds alone', async () => {
    const sizes: number[] = [];
    const result = await handleApart(
      dueOf(100),
      async (piece) => {
        sizes.push(piece.length);
        if (piece.length > 3) throw new Error('too many');
        return { changed: piece.length, lost: 0 };
      },
      { rates: new FailureRates(), isJudged: true, isSubjectsFault: () => true },
    );
    expect(result).toMatchObject({ changed: 100, failed: [] });
  });

  it('ends early where many fail and none succeeds, if it may judge', async () => {
    const all = (): boolean => true;
    await expect(handled(4_000, all)).rejects.toThrow(HandlerFaultError);
    const { result } = await handled(50, all, { isJudged: false });
    expect(result.failed).toHaveLength(50);
    const { result: few } = await handled(MANY - 1, all);
    expect(few.failed).toHaveLength(MANY - 1);
  });

  describe('where rows are held', () => {
    const handling = (
      held: (one: DueDeadline) => boolean,
      isSuspect = held,
      inTurn?: ApartOptions['inTurn'],
    ) => {
      const pieces: number[] = [];
      const attempt = async (piece: readonly DueDeadline[]) => {
        pieces.push(piece.length);
        if (piece.some(held)) throw new Error('held');
        return { changed: piece.length, lost: 0 };
      };
      const result = handleApart(dueOf(1_000), attempt, {
        ...{ rates: new FailureRates(), isJudged: true, isSubjectsFault: () => true },
        ...{ isContention: () => true, isSuspect, ...(inTurn && { inTurn }) },
      });
      return result.then((done) => ({ ...done, pieces }));
    };
    const nobody = (): boolean => false;

    it('finds who needs them, and blames nobody', async () => {
      const held = isPoison(0.005);
      const { changed, failed, locked, left } = await handling(held, nobody);
      expect({ changed, failed, left }).toEqual({ changed: 995, failed: [], left: [] });
      expect(locked.map(({ due }) => due).filter(held)).toHaveLength(5);
    });

    it('tries those that are known alone, after the others', async () => {
      const { changed, pieces } = await handling(isPoison(0.01));
      expect(changed).toBe(990);
      expect(pieces).toEqual([495, 495, ...Array<number>(10).fill(1)]);
    });

    it('tries a few of those that are known, in turn, and all of them once they are free', async () => {
      const isSuspect = isPoison(0.2);
      const inTurn = (all: readonly DueDeadline[]) => [...all].reverse();
      const { changed, locked, left, pieces } = await handling(isSuspect, isSuspect, inTurn);
      expect([changed, locked.length, left.length]).toEqual([800, 16, 184]);
      expect(pieces).toEqual([400, 400, ...Array<number>(16).fill(1)]);
      expect(left).not.toContainEqual(locked[0]?.due);
      expect(locked.map(({ due }) => due)).toEqual(
        inTurn(dueOf(1_000).filter(isSuspect)).slice(0, 16),
      );
      expect(await handling(nobody, isSuspect)).toMatchObject({ changed: 1_000, left: [] });
    });

    it.each([nobody, () => true])('stops to look where very many are', async (isSuspect) => {
      const { changed, failed, locked, left, pieces } = await handling(() => true, isSuspect);
      expect({ changed, failed }).toEqual({ changed: 0, failed: [] });
      expect(locked.length + left.length).toBe(1_000);
      expect(pieces.length).toBeLessThan(260);
    });
  });

  it('ends with an error that speaks of no subject', async () => {
    const away = new Error('away');
    const handling = handleApart(dueOf(10), () => Promise.reject(away), {
      rates: new FailureRates(),
      isJudged: true,
      isSubjectsFault: () => false,
    });
    await expect(handling).rejects.toBe(away);
  });
});
