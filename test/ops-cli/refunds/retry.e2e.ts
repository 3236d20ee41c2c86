import { randomUUID } from 'node:crypto';
import type { Page, RefundEntry } from '@app/orders';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { insertOrders } from '../../support/insert-orders';
import {
  expectConventions,
  inFourWays,
  lastcall,
  lastcallJson,
  operatorNamed,
} from '../../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

describe('lastcall refunds list, retry and settle', () => {
  let world: CliWorld;

  beforeAll(async () => (world = await startCliWorld()));
  afterAll(() => world.close());

  const refund = async (status: RefundEntry['status']): Promise<string> => {
    const options = { count: 1, closesInMs: 600_000, payment: 'failed' } as const;
    const [order] = await insertOrders(world.sql, options);
    const id = randomUUID();
    await world.sql.rows(
      `INSERT INTO refunds (id, payment_id, reason, amount, currency, status, attempt, error)
       VALUES ($1, $2, 'late_payment', 500, 'EUR', $3, 3, 'card expired')`,
      [id, order?.paymentId, status],
    );
    return id;
  };

  it('lists what is unsettled, in all four ways', async () => {
    const stuck = await refund('needs_attention');
    await refund('succeeded');
    const ways = await inFourWays(world.config, ['refunds', 'list', '--unsettled']);
    expectConventions(ways, 0);
    for (const { stdout } of [ways.tty, ways.pipe, ways.noColor]) {
      expect(stdout).toContain('card expired');
      expect(stdout).toContain('5.00 EUR');
    }
    const { items } = JSON.parse(ways.json.stdout) as { items: RefundEntry[] };
    expect(items.map(({ id }) => id)).toEqual([stuck]);
  });

  it('lists those that are owed no longer', async () => {
    const canceled = await refund('canceled');
    const args = ['refunds', 'list', '--status', 'canceled'];
    const { code, result } = await lastcallJson<Page<RefundEntry>>(world.config, args);
    expect({ code, result }).toMatchObject({ code: 0, result: { items: [{ id: canceled }] } });
  });

  it('has one tried again with a new attempt, a deadline and a record', async () => {
    const id = await refund('needs_attention');
    const args = ['refunds', 'retry', id, '--reason', 'unblocked', '--actor', 'eve'];
    const { code, result } = await lastcallJson<RefundEntry>(world.config, args);
    expect({ code, result }).toMatchObject({
      code: 0,
      result: { status: 'requested', attempt: 4 },
    });
    const rows = await world.sql.rows(
      `SELECT r.status, r.attempt, d.kind, a.actor, a.reason FROM refunds r
         JOIN deadlines d ON d.subject_id = r.id JOIN operator_actions a ON a.subject_id = r.id
        WHERE r.id = $1`,
      [id],
    );
    expect(rows).toEqual([
      {
        status: 'requested',
        attempt: 4,
        kind: 'refund',
        actor: operatorNamed('eve'),
        reason: 'unblocked',
      },
    ]);
    const again = await lastcall(world.config, args);
    expect(again.code).toBe(4);
    expect(again.stderr).toContain('is requested: it is about to be sent');
  });

  it('ends one whose money went back by another way, after a rehearsal, and writes it down', async () => {
    const id = await refund('needs_attention');
    const args = ['refunds', 'settle', id, '--as', 'done', '--reason', 'transfer 4711'];
    const json = (more: string) => lastcallJson(world.config, [...args, more, '--actor', 'eve']);
    const over = { as: 'done', refund: { id, status: 'succeeded', attempt: 4, error: null } };
    expect(await json('--dry-run')).toMatchObject({ code: 0, result: { dryRun: true, ...over } });
    const shown = await lastcall(world.config, args);
    expect(shown.code).toBe(8);
    expect(shown.stderr).toMatch(/money +\S+ EUR\norder +\S+\nowed for +\S+\nattempts +3\n/);
    expect(await json('--yes')).toMatchObject({ code: 0, result: { dryRun: false, ...over } });
    const rows = await world.sql.rows(
      `SELECT r.status, m.kind, m.source, a.action, a.actor, a.reason FROM refunds r
         JOIN money_movements m ON m.payment_id = r.payment_id
         JOIN operator_actions a ON a.subject_id = r.id WHERE r.id = $1`,
      [id],
    );
    const written = { action: 'refund.done', actor: operatorNamed('eve'), reason: 'transfer 4711' };
    const moved = { kind: 'refund_succeeded', source: 'operator' };
    expect(rows).toEqual([{ status: 'succeeded', ...moved, ...written }]);
    const again = await lastcall(world.config, [...args, '--yes']);
    expect(again.code).toBe(4);
    expect(again.stderr).toContain('it has succeeded already');
  });

  it('ends one of which others have taken a part by the amount that was sent, and by no other', async () => {
    const id = await refund('needs_attention');
    await world.sql.rows(
      `INSERT INTO money_movements (order_id, payment_id, kind, ref, amount, currency, source)
       SELECT p.order_id, p.id, m.kind, m.ref, m.amount, r.currency, 'webhook'
         FROM refunds r JOIN payments p ON p.id = r.payment_id,
              LATERAL (VALUES ('captured', p.provider_payment_id, r.amount),
                              ('refund_requested', r.id::text, r.amount),
                              ('foreign_refund', 're-by-hand', r.amount - 1)) AS m (kind, ref, amount)
        WHERE r.id = $1`,
      [id],
    );
    const args = ['refunds', 'settle', id, '--as', 'done', '--reason', 'transfer 4711'];
    const refused = await lastcall(world.config, [...args, '--yes']);
    expect(refused.code).toBe(4);
    expect(refused.stderr).toContain('once that is sent, settle it with this amount');
    const { code, result } = await lastcallJson(world.config, [...args, '--amount', '1', '--yes']);
    expect({ code, result }).toMatchObject({
      code: 0,
      result: { refund: { id, status: 'canceled' }, rest: { amount: 1, status: 'succeeded' } },
    });
  });

  it('refuses one that succeeded, and does not find one that is not there', async () => {
    const id = await refund('succeeded');
    const [done, none] = await Promise.all([
      lastcall(world.config, ['refunds', 'retry', id, '--reason', 'why']),
      lastcall(world.config, ['refunds', 'retry', randomUUID(), '--reason', 'why']),
    ]);
    expect([done.code, none.code]).toEqual([4, 3]);
    expect(done.stderr).toContain('the money has gone back');
  });

  it('says where to look when an order holds less than is asked back', async () => {
    const options = { count: 1, closesInMs: 600_000, payment: 'failed' } as const;
    const [order] = await insertOrders(world.sql, options);
    const id = order?.id as string;
    const args = ['refunds', 'create', id, '--amount', '999999'];
    const { code, stderr } = await lastcall(world.config, [...args, '--reason', 'case 17']);
    expect({ code, stderr }).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(
        new RegExp(`is more than[^]*Next: .*lastcall orders show ${id}`),
      ) as string,
    });
  });
});
