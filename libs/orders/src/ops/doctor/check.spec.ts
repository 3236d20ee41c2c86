import { lookAtAll, mendOf, ok } from './check';

it('what cannot be looked at is a finding, and keeps nothing else from being looked at', async () => {
  const denied = Object.assign(new Error('permission denied for function history_reaches'), {
    code: '42501',
  });
  const checks = await lookAtAll([
    ['history', 'seals', () => Promise.reject(denied)],
    ['provider', 'all', () => Promise.reject(new Error('nobody thought of it'))],
    ['flow', 'waits', () => Promise.resolve([ok('flow', 'waits', 'none')])],
  ]);
  expect(checks).toEqual([
    {
      ...{ area: 'history', name: 'seals', state: 'unknown' },
      ...{ detail: denied.message, fix: expect.stringContaining('migrate.js') as string },
    },
    expect.objectContaining({ area: 'provider', state: 'unknown', detail: 'nobody thought of it' }),
    ok('flow', 'waits', 'none'),
  ]);
});

it.each([
  ['53100', 'could not extend file', 'pg_replication_slots'],
  ['XX001', 'invalid page in block 7', 'Postgres'],
  [undefined, 'MISCONF Errors writing to the AOF file', 'disk of Redis'],
])('says whose fault an error is (%s %s)', (code, message, mend) => {
  expect(mendOf(Object.assign(new Error(message), { code }))).toContain(mend);
});

it('leaves to the check whose fault another error is', () => {
  expect(mendOf(new Error('connect ECONNREFUSED'))).toBeUndefined();
});

describe('of what takes long', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('tells what it is at after two seconds, and of nothing else', async () => {
    const told: string[] = [];
    const takes = (ms: number) => async () => {
      await jest.advanceTimersByTimeAsync(ms);
      return [];
    };
    await lookAtAll(
      [
        ['flow', 'deadlines', takes(1_999)],
        ['invariants', 'all', takes(2_001)],
        ['history', 'seals', () => Promise.reject(new Error('no'))],
      ],
      (what) => told.push(what),
    );
    await jest.advanceTimersByTimeAsync(10_000);
    expect(told).toEqual(['invariants, all']);
  });
});
