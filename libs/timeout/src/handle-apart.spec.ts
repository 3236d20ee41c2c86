import type { DueDeadline } from './deadline-handler';
import { handleApart, HandlerFaultError, MANY } from './handle-apart';

const dueOf = (count: number): DueDeadline[] =>
  Array.from({ length: count }, (_, index) => ({
    ...{ kind: 'payment', subjectId: String(index), version: 1, failures: 0 },
    dueAt: new Date(0),
  }));

const isPoison = (share: number) => {
  const every = Math.round(1 / share);
  return ({ subjectId }: DueDeadline): boolean => Number(subjectId) % every === 0;
};

/** A batch of which some are poison, and what handling it took. */
async function handled(
  count: number,
  poison: (one: DueDeadline) => boolean,
  { isJudged = true, rate = { failed: 0, succeeded: 0 } } = {},
) {
  const pieces: number[] = [];
  const done: DueDeadline[] = [];
  const result = await handleApart(
    dueOf(count),
    async (piece) => {
      pieces.push(piece.length);
      if (piece.some(poison)) throw new Error('poison');
      done.push(...piece);
      return { changed: piece.length, lost: 0 };
    },
    { rate, isJudged, isSubjectsFault: (error) => (error as Error).message === 'poison' },
  );
  return { result, done, pieces, rate };
}

describe('a batch in pieces', () => {
  it.each([0.001, 0.02, 0.2, 0.5])(
    'finds those to blame, %s of all, and no others',
    async (share) => {
      const poison = isPoison(share);
      const { result, done } = await handled(1_000, poison);
      const failed = dueOf(1_000).filter(poison).length;
      expect(result.failed.every(({ due }) => poison(due))).toBe(true);
      expect(result).toMatchObject({ changed: 1_000 - failed, lost: 0, putBack: [] });
      expect(new Set(result.failed.map(({ due }) => due.subjectId)).size).toBe(failed);
      expect(new Set(done.map(({ subjectId }) => subjectId)).size).toBe(1_000 - failed);
    },
  );

  it('needs few tries, and fewer once it knows how many fail', async () => {
    // What nobody can beat are 0.14 for each of them at 2%.
    const first = await handled(1_000, isPoison(0.02));
    expect(first.pieces.length).toBeLessThan(260);
    const second = await handled(1_000, isPoison(0.02), { rate: first.rate });
    expect(second.pieces.length).toBeLessThan(220);
  });

  it('is one or two pieces where hardly any fail', async () => {
    const rate = { failed: 1, succeeded: 5_000 };
    expect((await handled(1_000, () => false, { rate })).pieces).toEqual([1_000]);
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
      { rate: { failed: 0, succeeded: 0 }, isJudged: true, isSubjectsFault: () => true },
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

  it('ends with an error that speaks of no subject', async () => {
    const away = new Error('away');
    const handling = handleApart(dueOf(10), () => Promise.reject(away), {
      rate: { failed: 0, succeeded: 0 },
      isJudged: true,
      isSubjectsFault: () => false,
    });
    await expect(handling).rejects.toBe(away);
  });
});
