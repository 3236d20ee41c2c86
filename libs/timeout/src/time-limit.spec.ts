import { setTimeout as workFor } from 'node:timers/promises';
import { withTimeLimit } from './time-limit';

it.each([2 ** 31, Number.MAX_SAFE_INTEGER, Infinity])(
  'waits as long as it takes where that is longer than a timer of Node can be: %d ms',
  async (limitMs) => {
    // A timer that is set for longer ends after a millisecond.
    expect(await withTimeLimit(workFor(20, 'done'), limitMs, 'not done')).toBe('done');
  },
);
