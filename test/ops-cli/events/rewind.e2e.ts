import type { Rewound } from '@app/orders';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { insertOrders } from '../../support/insert-orders';
import { lastcall, lastcallJson, operatorNamed } from '../../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

const HOUR_MS = 3_600_000;
const WHY = ['--reason', 'the stream was lost', '--actor', 'ann'];

describe('lastcall events rewind', () => {
  let world: CliWorld;
  beforeAll(async () => (world = await startCliWorld()));
  afterAll(() => world.close());

  const rewind = (...to: string[]) =>
    lastcallJson<Rewound>(world.config, ['events', 'rewind', ...to, ...WHY]);

  it('sends again what was written since the given instant, or shortly before the last was sent', async () => {
    await insertOrders(world.sql, { count: 1, closesInMs: 600_000 });
    await world.rows(`UPDATE order_events SET at = at - interval '2 hours'`);
    await insertOrders(world.sql, { count: 1, closesInMs: 600_000 });
    await world.rows(
      `UPDATE relay_cursor SET relayed_at = now(), tx_from = newest.tx, tx_until = newest.tx
         FROM (SELECT ((max(tx::text::bigint) + 1)::text)::xid8 AS tx FROM order_events) AS newest`,
    );
    const last = await rewind();
    expect(last).toMatchObject({ code: 0, result: { events: 1, wasStuck: false } });
    const all = await rewind('--to', '3h');
    expect(all).toMatchObject({ code: 0, result: { events: 2, wasStuck: false } });
    const earlierMs =
      Date.parse(String(last.result.sentFrom)) - Date.parse(String(all.result.sentFrom));
    expect(earlierMs).toBeGreaterThan(2 * HOUR_MS);
    expect(await world.rows('SELECT action, actor, reason FROM operator_actions')).toEqual(
      [last, all].map(() => ({
        action: 'events.rewind',
        actor: operatorNamed('ann'),
        reason: 'the stream was lost',
      })),
    );
  });

  it('begins nowhere where it cannot tell when that is', async () => {
    const { code, stderr } = await lastcall(world.config, [
      'events',
      'rewind',
      '--to',
      'noon',
      ...WHY,
    ]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('"noon" is no instant')]);
  });
});
