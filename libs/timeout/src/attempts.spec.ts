import { type Attempted, AttemptQueue } from './attempts';

/** Attempts that end when the test says so. */
function heldAttempts() {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const attempt = (id: string): Promise<Attempted> => {
    started.push(id);
    return new Promise((resolve) => ends.set(id, () => resolve('succeeded')));
  };
  return { started, attempt, end: (id: string) => ends.get(id)?.() };
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('AttemptQueue', () => {
  it('tries so many at once, and none twice at the same time', async () => {
    const { started, attempt, end } = heldAttempts();
    const queue = new AttemptQueue(2, attempt, fail);
    const all = queue.run(['a', 'b', 'c']);
    void queue.run(['a', 'c']);
    await turn();
    expect(started).toEqual(['a', 'b']);
    end('a');
    await turn();
    expect(started).toEqual(['a', 'b', 'c']);
    end('b');
    end('c');
    await all;
    void queue.run(['a']);
    expect(started).toEqual(['a', 'b', 'c', 'a']);
  });

  it('has ended when what was under way and what waited has', async () => {
    const { started, attempt, end } = heldAttempts();
    const queue = new AttemptQueue(1, attempt, fail);
    const seen: string[] = [];
    void queue.run(['a', 'b']).then(() => seen.push('run'));
    const ended = queue.ended().then(() => seen.push('ended'));
    queue.stop();
    end('a');
    await ended;
    expect({ started, seen: seen.toSorted() }).toEqual({ started: ['a'], seen: ['ended', 'run'] });
    await queue.ended();
  });

  it('goes on after one that fails', async () => {
    const errors: unknown[] = [];
    const done: string[] = [];
    const queue = new AttemptQueue(
      1,
      async (id) => {
        if (id === 'bad') throw new Error('bad');
        done.push(id);
        return 'succeeded';
      },
      (error) => errors.push(error),
    );
    await queue.run(['bad', 'good']);
    expect(done).toEqual(['good']);
    expect(errors).toHaveLength(1);
  });

  it('tells what speaks for the work, or against it, and not where nobody answered', async () => {
    const told: string[] = [];
    const queue = new AttemptQueue(
      3,
      async (id) => {
        if (id === 'bad') throw new Error('bad');
        return id === 'good' ? 'succeeded' : 'nothing';
      },
      () => undefined,
    );
    await queue.run(['good', 'unanswered', 'bad'], {
      succeeded: (id) => void told.push(id),
      failed: (id, error) => void told.push(`${id}: ${String(error)}`),
    });
    expect(told.sort()).toEqual(['bad: Error: bad', 'good']);
  });

  it('tells of no failure, and no judge, where others are at the same things', async () => {
    const told: string[] = [];
    const queue = new AttemptQueue(
      3,
      async (id) => {
        throw id === 'locked' ? Object.assign(new Error(id), { code: '55P03' }) : new Error(id);
      },
      (error) => told.push(`failed: ${String(error)}`),
      (error) => String(error) === 'Error: busy',
    );
    await queue.run(['busy', 'locked', 'bad'], {
      succeeded: (id) => void told.push(id),
      failed: (id) => void told.push(`judged: ${id}`),
    });
    expect(told).toEqual(['failed: Error: bad', 'judged: bad']);
  });

  it('drops what waits when it is stopped', async () => {
    const { started, attempt, end } = heldAttempts();
    const queue = new AttemptQueue(1, attempt, fail);
    const all = queue.run(['a', 'b']);
    await turn();
    queue.stop();
    end('a');
    await all;
    await queue.run(['c']);
    expect(started).toEqual(['a']);
  });
});

function fail(error: unknown): never {
  throw error;
}
