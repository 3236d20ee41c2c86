import { AsyncLocalStorage } from 'node:async_hooks';
import { nobodysContext } from '@app/timeout';
import { GroupCommit } from './group-commit';
import { HeldElsewhere } from './group-commit-options';

const overflow = () => new Error('busy');
const options = { maxGroup: 10, lanes: 1, maxWaiting: 10, overflow, isEverybodys: () => false };

describe('GroupCommit, whose callers have contexts of their own', () => {
  const context = new AsyncLocalStorage<string>();
  // Loaded before anybody asks for anything, as where an application boots.
  beforeAll(() => expect(nobodysContext).toBeDefined());

  it('carries out what they share in none of these, and each goes on in its own', async () => {
    const seen: (string | undefined)[] = [];
    let isFirst = true;
    const groups = new GroupCommit<string, string>(async (requests) => {
      seen.push(context.getStore());
      await Promise.resolve();
      seen.push(context.getStore());
      // What is held elsewhere wakes the groups by a timer.
      if (isFirst) {
        isFirst = false;
        return requests.map(() => new HeldElsewhere(['row']));
      }
      return requests;
    }, options);
    const went = await Promise.all(
      ['ann', 'bob'].map((who) =>
        context.run(who, async () => [await groups.submit(who), context.getStore()]),
      ),
    );
    expect(went).toEqual([
      ['ann', 'ann'],
      ['bob', 'bob'],
    ]);
    expect(seen.length).toBeGreaterThan(2);
    expect(seen.filter((one) => one !== undefined)).toEqual([]);
  });
});
