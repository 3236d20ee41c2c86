import { lookAtAll, ok } from './check';

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
