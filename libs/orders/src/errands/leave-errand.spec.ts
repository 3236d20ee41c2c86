import type { Queryable } from '../order/order-rows';
import { leaveErrand } from './leave-errand';

const OLGA = { actor: 'olga', reason: 'case 9' };
const never = new AbortController().signal;

describe('a command that waits', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  /** Its row, as the command finds it; how long it waited, and how that ended. */
  async function waitFor(row: { hasBegun: boolean; answer: null } | undefined) {
    const sent: string[] = [];
    const sql: Queryable = {
      rows: async <Row>(text: string) => {
        sent.push(text.split(' ')[0] as string);
        return (text.startsWith('UPDATE') && row ? [row] : [{}]) as Row[];
      },
    };
    const startedMs = performance.now();
    const asked = leaveErrand(sql, never, 'orders.settle', ['one', { ...OLGA, as: 'closed' }]);
    const ended = asked.then(() => undefined).catch(({ state }: { state: string }) => state);
    const endedMs = ended.then(() => performance.now());
    await jest.advanceTimersByTimeAsync(60_000);
    return { state: await ended, tookMs: (await endedMs) - startedMs, sent };
  }

  it('takes it back after 20 s in which nobody has begun', async () => {
    const { state, tookMs, sent } = await waitFor({ hasBegun: false, answer: null });
    expect({ state, last: sent.at(-1) }).toEqual({ state: 'not_taken', last: 'DELETE' });
    expect(Math.round(tookMs / 1_000)).toBe(20);
  });

  it('says that it knows no more, 20 s after somebody has begun, and leaves it', async () => {
    const { state, tookMs, sent } = await waitFor({ hasBegun: true, answer: null });
    expect({ state, last: sent.at(-1) }).toEqual({ state: 'unanswered', last: 'UPDATE' });
    expect(Math.round(tookMs / 1_000)).toBe(20);
  });
});
