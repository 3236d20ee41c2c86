import * as fc from 'fast-check';
import { until } from '../../../test/support/until';
import { GroupCommit } from './group-commit';
import type { GroupCommitOptions, HowToCarryOut } from './group-commit-options';

const away = new Error('away');
const poison = new Error('poison');
const held = new Error('held');

/** A database that answers when it is told to. */
class Commits {
  readonly groups: string[][] = [];
  /** Each group in a word, and whether it was told that it has waited. */
  readonly told: [string, boolean][] = [];
  /** Since when each of them was told that it has waited. */
  readonly sinceMs: number[] = [];
  readonly #open: (() => void)[] = [];
  fails: (group: readonly string[]) => Error | undefined = () => undefined;
  holds = true;

  readonly carryOut = async (
    group: readonly string[],
    { haveWaited, sinceMs }: HowToCarryOut,
  ): Promise<string[]> => {
    this.groups.push([...group]);
    this.sinceMs.push(sinceMs);
    this.told.push([group.join(''), haveWaited]);
    if (this.holds) await new Promise<void>((resolve) => this.#open.push(resolve));
    const error = this.fails(group);
    if (error) throw error;
    return group.map((request) => `${request}!`);
  };

  finish(): void {
    this.#open.shift()?.();
  }
}

const create = (commits: Commits, options: Partial<GroupCommitOptions<string>> = {}) =>
  new GroupCommit<string, string>(commits.carryOut, {
    maxGroup: 10,
    lanes: 1,
    maxWaiting: 100,
    overflow: () => new Error('overflow'),
    isEverybodys: (error) => error === away,
    ...options,
  });

/** Says how many timers of about a minute that are set from now on have not been taken back. */
function watchMinutes(): () => number {
  const set = jest.spyOn(globalThis, 'setTimeout');
  const cleared = jest.spyOn(globalThis, 'clearTimeout');
  return () => {
    const over = new Set(cleared.mock.calls.map(([timer]) => timer));
    const minutes = set.mock.results.filter((_, nth) => (set.mock.calls[nth]?.[1] ?? 0) > 50_000);
    expect(minutes).not.toEqual([]);
    return minutes.filter(({ value }) => !over.has(value as NodeJS.Timeout)).length;
  };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('GroupCommit', () => {
  afterEach(() => jest.restoreAllMocks());

  it('starts a lone request at once', async () => {
    const commits = new Commits();
    const one = create(commits).submit('a');
    await turn();
    expect(commits.groups).toEqual([['a']]);
    commits.finish();
    expect(await one).toBe('a!');
  });

  it('takes together what arrives while a commit is under way', async () => {
    const commits = new Commits();
    const groups = create(commits, { maxGroup: 3 });
    const first = groups.submit('a');
    await turn();
    const rest = ['b', 'c', 'd', 'e'].map((request) => groups.submit(request));
    await turn();
    expect(commits.groups).toEqual([['a']]);
    commits.holds = false;
    commits.finish();
    expect(await Promise.all([first, ...rest])).toEqual(['a!', 'b!', 'c!', 'd!', 'e!']);
    expect(commits.groups).toEqual([['a'], ['b', 'c', 'd'], ['e']]);
  });

  it('fails alone what is poisoned, by halving', async () => {
    const commits = new Commits();
    commits.holds = false;
    commits.fails = (group) => (group.includes('e') ? poison : undefined);
    const requests = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    const groups = create(commits);
    const results = await Promise.allSettled(requests.map((r) => groups.submit(r)));
    expect(results.filter(({ status }) => status === 'rejected')).toEqual([
      { status: 'rejected', reason: poison },
    ]);
    expect(results[4]?.status).toBe('rejected');
    expect(commits.groups.map(({ length }) => length)).toEqual([8, 4, 4, 2, 1, 1, 2]);
  });

  it('tells pieces of a group that has waited for somebody to wait no longer', async () => {
    const commits = new Commits();
    commits.holds = false;
    commits.fails = (group) =>
      group.includes('c') ? held : group.includes('a') ? poison : undefined;
    const groups = create(commits, { isHeld: (error) => error === held });
    await Promise.allSettled(['a', 'b', 'c', 'd'].map((r) => groups.submit(r)));
    expect(commits.told.map(([group, haveWaited]) => `${group} ${haveWaited}`)).toEqual([
      'abcd false',
      'ab true',
      'a true',
      'b true',
      'cd true',
      'c true',
      'd true',
    ]);
    await groups.submit('e');
    expect(commits.told.at(-1)).toEqual(['e', false]);
  });

  it('tells a group since when the one that has waited longest has', async () => {
    const commits = new Commits();
    const groups = create(commits);
    const earlyMs = performance.now();
    const all = [groups.submit('a')];
    await turn();
    all.push(groups.submit('b'));
    const lateMs = performance.now();
    await turn();
    all.push(groups.submit('c'));
    commits.finish();
    await turn();
    commits.finish();
    await Promise.all(all);
    expect(commits.groups).toEqual([['a'], ['b', 'c']]);
    const [first, second] = commits.sinceMs as [number, number];
    expect(first).toBeGreaterThanOrEqual(earlyMs);
    expect(second).toBeGreaterThanOrEqual(first);
    expect(second).toBeLessThanOrEqual(lateMs);
  });

  it('fails all, without splitting, when nobody’s request is at fault', async () => {
    const commits = new Commits();
    commits.holds = false;
    commits.fails = () => away;
    const groups = create(commits);
    const results = await Promise.allSettled(['a', 'b', 'c'].map((r) => groups.submit(r)));
    expect(results.every((one) => one.status === 'rejected' && one.reason === away)).toBe(true);
    expect(commits.groups).toHaveLength(1);
  });

  it('tells who waits behind a group at once of what meets them as well', async () => {
    const commits = new Commits();
    commits.fails = () => away;
    const groups = create(commits, { isForAllWaiting: (error) => error === away });
    const first = groups.submit('a');
    await turn();
    const all = Promise.allSettled([first, ...['b', 'c'].map((r) => groups.submit(r))]);
    commits.finish();
    expect((await all).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(commits.groups).toEqual([['a']]);
    await groups.drained();
  });

  it('takes who has little time left without the others, and fails none of them with it', async () => {
    const startedMs = performance.now();
    let passedMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => startedMs + passedMs);
    const commits = new Commits();
    const groups = create(commits, { isForAllWaiting: (error) => error === away });
    const first = groups.submit('x');
    await turn();
    const old = groups.submit('a');
    passedMs = 1_600;
    const young = ['b', 'c'].map((request) => groups.submit(request));
    commits.fails = (group) => (group.includes('a') ? away : undefined);
    commits.finish();
    await first;
    commits.holds = false;
    commits.finish();
    await expect(old).rejects.toBe(away);
    expect(await Promise.all(young)).toEqual(['b!', 'c!']);
    expect(commits.groups).toEqual([['x'], ['a'], ['b', 'c']]);
  });

  it('refuses more than may wait', async () => {
    const commits = new Commits();
    const groups = create(commits, { maxWaiting: 2 });
    const accepted = [groups.submit('a'), groups.submit('b')];
    await expect(groups.submit('c')).rejects.toThrow('overflow');
    commits.holds = false;
    await turn();
    commits.finish();
    await Promise.all(accepted);
  });

  it('never puts requests of one key into one group, and keeps their order', async () => {
    const commits = new Commits();
    commits.holds = false;
    const groups = create(commits, { keyOf: (request) => request[0] as string });
    await Promise.all(['a1', 'a2', 'b1', 'a3'].map((request) => groups.submit(request)));
    expect(commits.groups).toEqual([['a1', 'b1'], ['a2'], ['a3']]);
  });

  it('is drained when nothing is waiting or under way', async () => {
    const commits = new Commits();
    const groups = create(commits, { lanes: 2 });
    await groups.drained();
    const both = [groups.submit('a')];
    await turn();
    both.push(groups.submit('b'));
    let isDrained = false;
    const drained = groups.drained().then(() => (isDrained = true));
    await turn();
    expect(isDrained).toBe(false);
    commits.finish();
    commits.finish();
    await Promise.all([...both, drained]);
  });

  it('lets requests gather beside a group, until it takes long or a full one waits', async () => {
    const minutesLeft = watchMinutes();
    const commits = new Commits();
    const groups = create(commits, { lanes: 2, maxGroup: 2, nextLaneAfterMs: 60_000 });
    const all = [groups.submit('a')];
    await turn();
    all.push(groups.submit('b'));
    await turn();
    expect(commits.groups).toEqual([['a']]);
    all.push(groups.submit('c'));
    await turn();
    expect(commits.groups).toEqual([['a'], ['b', 'c']]);
    all.push(groups.submit('d'));
    commits.finish();
    await turn();
    // The lane that is free leaves it to the other, whose group has begun just now.
    expect(commits.groups).toHaveLength(2);
    commits.finish();
    await turn();
    expect(commits.groups).toEqual([['a'], ['b', 'c'], ['d']]);
    commits.finish();
    await Promise.all(all);
    await groups.drained();
    // None that keeps a process for the minute.
    expect(minutesLeft()).toBe(0);
    const slow = new Commits();
    const others = create(slow, { lanes: 2, nextLaneAfterMs: 20 });
    const both = ['e', 'f'].map(async (request) => {
      if (request === 'f') await turn();
      return others.submit(request);
    });
    await until('the second has a lane of its own', async () => slow.groups.length === 2);
    slow.finish();
    slow.finish();
    expect(await Promise.all(both)).toEqual(['e!', 'f!']);
  });

  it('answers every request once, with its own answer, whatever fails', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ key: fc.nat(5), bad: fc.boolean() }), { maxLength: 40 }),
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 1, max: 3 }),
        async (wanted, maxGroup, lanes) => {
          const commits = new Commits();
          commits.holds = false;
          commits.fails = (group) => (group.some((r) => r.endsWith('bad')) ? poison : undefined);
          const keyOf = (request: string) => request.split(' ')[1] as string;
          const groups = create(commits, { maxGroup, lanes, keyOf });
          const requests = wanted.map(({ key, bad }, i) => `${i} ${key} ${bad ? 'bad' : 'good'}`);
          const results = await Promise.allSettled(requests.map((r) => groups.submit(r)));
          results.forEach((result, index) => {
            const request = requests[index] as string;
            if (request.endsWith('bad')) expect(result.status).toBe('rejected');
            else expect(result).toEqual({ status: 'fulfilled', value: `${request}!` });
          });
          for (const group of commits.groups) {
            expect(group.length).toBeLessThanOrEqual(maxGroup);
            expect(new Set(group.map(keyOf)).size).toBe(group.length);
          }
        },
      ),
      { numRuns: 50 },
    );
  });
});
