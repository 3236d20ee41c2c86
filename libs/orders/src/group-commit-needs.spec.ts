import * as fc from 'fast-check';
import { Gate } from '../../timeout/src/testing/gate';
import { timed } from '../../timeout/src/testing/awake-time';
import { GroupCommit } from './group-commit';
import { HeldElsewhere, type GroupCommitOptions } from './group-commit-options';

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('GroupCommit, where requests need something to themselves', () => {
  const needsOf = (request: string): string[] => request.split('+').map((need) => need.slice(0, 1));
  const tired = (needs: readonly string[]) => new Error(`tired of ${needs.join()}`);

  it('never has two groups under way that share a need', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('a', 'b', 'c', 'a+b', 'b+c', 'a+c', 'd'), { maxLength: 30 }),
        fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }),
        async (wanted, oldestFirst) => {
          const underWay: { needs: string[]; finish: () => void }[] = [];
          const groups = new GroupCommit<string, string>(
            async (group) => {
              const needs = [...new Set(group.flatMap(needsOf))];
              for (const other of underWay) {
                expect(needs.filter((need) => other.needs.includes(need))).toEqual([]);
              }
              await new Promise<void>((finish) => underWay.push({ needs, finish }));
              return group.map((request) => `${request}!`);
            },
            {
              ...{ maxGroup: 3, lanes: 3, maxWaiting: 100, needsOf },
              overflow: () => new Error('overflow'),
              isEverybodys: () => true,
            },
          );
          const all = Promise.all(wanted.map((request) => groups.submit(request)));
          const isDone = all.then(() => true);
          for (const first of [...oldestFirst, ...oldestFirst]) {
            await turn();
            const [one] = underWay.splice(first ? 0 : underWay.length - 1, 1);
            one?.finish();
          }
          expect(await Promise.race([isDone, turn().then(() => false)])).toBe(true);
          expect(await all).toEqual(wanted.map((request) => `${request}!`));
        },
      ),
      { numRuns: 50 },
    );
  });

  /**
   * `b` is somebody else's until it is given back.
   * @param failsGroups as by code that knows no SKIP LOCKED: the whole group fails by it
   */
  function withHeld(options: Partial<GroupCommitOptions<string>> = {}, failsGroups = false) {
    const held = new Set(['b']);
    const asked: string[][] = [];
    const waited: { waitsFor: string; group: readonly string[] }[] = [];
    const excluding: (readonly string[])[] = [];
    const turns: string[] = [];
    const heldOf = (request: string) => needsOf(request).filter((need) => held.has(need));
    const groups = new GroupCommit<string, string>(
      async (group, { waitsFor, turn: taken }) => {
        asked.push([...group]);
        turns.push(taken);
        if (taken === 'alone') excluding.push(group);
        if (waitsFor !== undefined) waited.push({ waitsFor, group });
        await turn();
        const isAlone = group.length === 1;
        if (failsGroups && !isAlone && group.some((request) => heldOf(request).length > 0)) {
          throw new Error('somebody waited in it');
        }
        return group.map((request) => {
          const needs = heldOf(request);
          if (needs.length === 0) return `${request}!`;
          return new HeldElsewhere(needs, failsGroups, taken === 'alone');
        });
      },
      {
        ...{ maxGroup: 10, lanes: 2, maxWaiting: 100, needsOf, tired, ...options },
        overflow: () => new Error('overflow'),
        isEverybodys: () => !failsGroups,
      },
    );
    return { held, asked, waited, excluding, turns, groups };
  }

  it('keeps who needs what somebody holds, and nobody else, until it is free', async () => {
    const { held, groups } = withHeld();
    const kept = ['b', 'a+b'].map((request) => groups.submit(request));
    expect(await Promise.all(['a', 'c'].map((r) => groups.submit(r)))).toEqual(['a!', 'c!']);
    expect(await groups.submit('a')).toBe('a!');
    held.clear();
    expect(await Promise.all(kept)).toEqual(['b!', 'a+b!']);
    await groups.drained();
  });

  it('tells them after two seconds, and looks seldom meanwhile', async () => {
    const { asked, groups } = withHeld();
    const startedMs = performance.now();
    const { result: kept, tookMs } = await timed(() =>
      Promise.allSettled(['b', 'a+b', 'b'].map((r) => groups.submit(r))),
    );
    expect(performance.now() - startedMs).toBeGreaterThan(2_000);
    expect(tookMs).toBeLessThan(2_900);
    for (const one of kept) expect(one).toMatchObject({ reason: tired(['b']) });
    expect(asked.length).toBeLessThan(50);
    await groups.drained();
  });

  it('waits for what is held again and again, with nobody who does not need it, and seldom where in vain', async () => {
    const { waited, excluding, groups } = withHeld({ canWaitFor: (need) => need === 'b' });
    const all = ['b', 'a+b', 'c', 'b'].map((request) => groups.submit(request));
    const kept = await Promise.allSettled(all);
    expect(kept.map(({ status }) => status)).toEqual([
      ...['rejected', 'rejected'],
      ...['fulfilled', 'rejected'],
    ]);
    expect(waited).toHaveLength(1);
    const [{ waitsFor, group } = { waitsFor: '', group: [] }] = waited;
    expect(waitsFor).toBe('b');
    expect(group.length).toBeGreaterThan(0);
    expect(group.filter((request) => !needsOf(request).includes('b'))).toEqual([]);
    // None stands aside for what none of them has.
    expect(excluding).toHaveLength(1);
    await groups.drained();
  });

  it('keeps nobody from what those need as well who wait for what is held', async () => {
    const gate = new Gate();
    const groups = new GroupCommit<string, string>(
      async (group, { waitsFor, turn: taken }) => {
        await turn();
        if (waitsFor !== undefined) await gate.pass();
        return group.map((request) =>
          request.includes('b') && waitsFor === undefined
            ? new HeldElsewhere(['b'], false, taken === 'alone')
            : `${request}!`,
        );
      },
      {
        ...{ maxGroup: 3, lanes: 2, maxWaiting: 100, needsOf, tired },
        canWaitFor: () => true,
        overflow: () => new Error('overflow'),
        isEverybodys: () => true,
      },
    );
    const waiting = groups.submit('a+b');
    await gate.reached();
    const behind = ['a+b', 'c+b'].map((request) => groups.submit(request));
    for (let round = 0; round < 10; round++) {
      expect(await Promise.all(['a', 'c'].map((r) => groups.submit(r)))).toEqual(['a!', 'c!']);
    }
    gate.open();
    expect(await Promise.all([waiting, ...behind])).toEqual(['a+b!', 'a+b!', 'c+b!']);
    await groups.drained();
  });

  it('asks the groups of others to stand aside where they have all the time what one needs', async () => {
    const ofOthers = new Set('abc');
    let underWay = 0;
    let most = 0;
    const groups = new GroupCommit<string, string>(
      async (group, { turn: taken }) => {
        underWay += 1;
        if (taken === 'alone') most = Math.max(most, underWay);
        await turn();
        await turn();
        underWay -= 1;
        return group.map((request) => {
          const needs =
            taken === 'alone' ? [] : needsOf(request).filter((need) => ofOthers.has(need));
          return needs.length > 0 ? new HeldElsewhere(needs) : `${request}!`;
        });
      },
      {
        ...{ maxGroup: 3, lanes: 3, maxWaiting: 1_000, needsOf, tired },
        canWaitFor: () => true,
        overflow: () => new Error('overflow'),
        isEverybodys: () => true,
      },
    );
    const wanted = Array.from(
      { length: 60 },
      (_, n) => ['a', 'b+d', 'c', 'e', 'f'][n % 5] as string,
    );
    const placed = await Promise.all(wanted.map((request) => groups.submit(request)));
    expect(placed).toEqual(wanted.map((request) => `${request}!`));
    // Nobody of this process would be let in beside it.
    expect(most).toBe(1);
    await groups.drained();
  });

  it('leaves most of the room to strangers', async () => {
    const { held, groups } = withHeld({ maxWaiting: 20 });
    const kept = [groups.submit('b')];
    await turn();
    await turn();
    const crowd = await Promise.allSettled(
      Array.from({ length: 15 }, () => {
        const one = groups.submit('b');
        kept.push(one);
        return Promise.race([one, turn()]);
      }),
    );
    expect(crowd.filter(({ status }) => status === 'rejected').length).toBeGreaterThanOrEqual(10);
    expect(await groups.submit('a')).toBe('a!');
    held.clear();
    await Promise.allSettled(kept);
  });

  const failed = (asked: readonly string[][]) =>
    asked.filter((group) => group.length > 1 && group.some((request) => request.includes('b')));

  it.each([1, 2])(
    'fails few groups by what one request waits for, with %i lanes',
    async (lanes) => {
      const { held, asked, groups } = withHeld({ lanes, maxWaiting: 1_000 }, true);
      const kept = ['c', 'b', 'a+b', 'd'].map((request) => groups.submit(request));
      expect(await Promise.all([kept[0], kept[3]])).toEqual(['c!', 'd!']);
      const isolating = failed(asked).length;
      expect(isolating).toBeLessThan(4);
      for (let round = 0; round < 20; round++) {
        kept.push(groups.submit('b'));
        expect(await Promise.all(['a', 'c'].map((r) => groups.submit(r)))).toEqual(['a!', 'c!']);
      }
      expect(failed(asked)).toHaveLength(isolating);
      held.clear();
      expect(await Promise.all(kept)).toHaveLength(24);
      await groups.drained();
      asked.length = 0;
      await Promise.all(['a', 'b'].map((r) => groups.submit(r)));
      expect(asked).toEqual([['a', 'b']]);
    },
  );

  it('tells them after two seconds, however many wait for their turn alone', async () => {
    const { turns, groups } = withHeld({}, true);
    const { result, tookMs } = await timed(() =>
      Promise.allSettled(Array.from({ length: 9 }, () => groups.submit('b'))),
    );
    for (const one of result) expect(one).toMatchObject({ reason: tired(['b']) });
    expect(tookMs).toBeLessThan(2_900);
    // Whoever waits in a turn would keep the groups of other processes from theirs.
    expect(turns.slice(-5)).toEqual(Array<string>(5).fill('none'));
    await groups.drained();
  });
});
