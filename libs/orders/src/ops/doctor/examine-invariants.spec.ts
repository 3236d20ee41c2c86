import { examineInvariants } from './examine-invariants';

const HISTORY_ROWS = 150_000;

/** A database that answers each invariant in its own way. */
function database(
  answer: (sql: string) => Promise<{ violations: string }[]>,
  unfolded = { movements: 0, age: '0' },
) {
  const asked: string[] = [];
  const rows = async <T>(sql: string, params: readonly unknown[] = []): Promise<T[]> => {
    if (sql.includes('OFFSET'))
      return (Number(params[0]) < HISTORY_ROWS ? [{ tx: '7' }] : []) as T[];
    if (sql.startsWith('SELECT (SELECT')) return [unfolded] as T[];
    asked.push(sql);
    return (await answer(sql)) as T[];
  };
  return { asked, rows };
}

describe('examineInvariants', () => {
  it('warns of those that took too long, and finds those that are broken', async () => {
    const stopped = Object.assign(new Error('canceling statement'), { code: '57014' });
    const sql = database(async (text) => {
      if (text.includes('-- 1.')) throw stopped;
      return [{ violations: text.includes('-- 2.') ? '3' : '0' }];
    });
    const states = (await examineInvariants(sql, 15_000)).map(({ state }) => state);
    expect(states.slice(0, 3)).toEqual(['warning', 'finding', 'ok']);
  });

  it('looks at every order where there are few enough', async () => {
    const sql = database(async () => [{ violations: '0' }]);
    await examineInvariants(sql, 15_000);
    const bounded = sql.asked.filter((text) => /tx >= '\d+'/.test(text));
    expect(bounded.length).toBeGreaterThan(5);
    for (const text of bounded) expect(text).toContain("tx >= '0'");
  });

  it('warns of stock that waits to be folded for longer than a minute', async () => {
    for (const [age, state] of [
      ['59', 'ok'],
      ['61', 'warning'],
    ] as const) {
      const sql = database(async () => [{ violations: '0' }], { movements: 7, age });
      const checks = await examineInvariants(sql, 15_000);
      expect(checks.at(-1)).toMatchObject({ name: 'stock is folded', state });
      expect(checks.at(-1)?.detail).toBe(`7 movements to fold, the oldest for ${age} s`);
    }
  });
});
