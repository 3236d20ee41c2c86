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

  it('asks again where the database goes away as it asks', async () => {
    const away = Object.assign(new Error('terminating connection'), { code: '57P01' });
    const isThere = jest.fn().mockRejectedValueOnce(away).mockRejectedValueOnce(away);
    const written: string[] = [];
    const sql: Queryable = {
      async rows<Row>(text: string, [id]: readonly unknown[] = []) {
        const [what] = text.split(' ');
        if (what === 'INSERT') {
          await isThere();
          written.push(id as string);
        }
        const isKept = written.includes(id as string);
        return (isKept ? [{ hasBegun: true, answer: { result: 'settled' } }] : []) as Row[];
      },
    };
    const asked = leaveErrand(sql, never, 'orders.settle', ['one', { ...OLGA, as: 'closed' }]);
    const ended = asked.catch((error: unknown) => error);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(await ended).toBe('settled');
    expect(written).toHaveLength(1);
  });
});
