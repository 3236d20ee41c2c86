import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CloseResult } from '@app/orders';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { insertOrders } from '../../support/insert-orders';
import {
  expectConventions,
  inFourWays,
  lastcall,
  lastcallJson,
  operatorNamed,
} from '../../support/lastcall';
import { statusesOf } from '../../support/order-statuses';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

const UNKNOWN = '00000000-0000-7000-8000-000000000000';

interface Outcome {
  dryRun: boolean;
  asked: number;
  closed: number;
  closing: number;
  skipped: number;
  failed: number;
  orders: CloseResult[];
}

describe('lastcall orders force-close', () => {
  let world: CliWorld;

  beforeAll(async () => (world = await startCliWorld()));
  afterAll(() => world.close());

  const place = async (count: number, customerId = 'ann'): Promise<string[]> =>
    (await insertOrders(world.sql, { count, closesInMs: 600_000, customerId })).map(({ id }) => id);
  it('closes an order and keeps who did it and why', async () => {
    const [id] = (await place(1)) as [string];
    const args = ['orders', 'force-close', id, '--reason', 'fraud, case 17', '--actor', 'eve'];
    const { code, result } = await lastcallJson<Outcome>(world.config, args);
    expect(code).toBe(0);
    expect(result).toMatchObject({
      asked: 1,
      closed: 1,
      orders: [{ orderId: id, outcome: 'closed' }],
    });
    const events = await world.sql.rows(
      'SELECT to_status, by, actor, reason FROM order_events WHERE order_id = $1 AND version = 2',
      [id],
    );
    expect(events).toEqual([
      {
        to_status: 'closed',
        by: 'operator',
        actor: operatorNamed('eve'),
        reason: 'fraud, case 17',
      },
    ]);
    const stock = await world.sql.rows<{ off: number }>(
      `SELECT reserved - (SELECT count(*) FROM orders WHERE status = 'pending_payment')::int
              - (SELECT coalesce(sum(quantity), 0) FROM unfolded_stock_movements)::int AS off
         FROM products WHERE sku = 'TEA'`,
    );
    expect(stock).toEqual([{ off: 0 }]);
  });

  it('rehearses in all four ways and changes nothing', async () => {
    const ids = await place(3);
    const args = ['orders', 'force-close', ...ids, '--reason', 'sale', '--dry-run'];
    const ways = await inFourWays(world.config, args);
    expectConventions(ways, 0);
    for (const { stdout } of [ways.tty, ways.pipe, ways.noColor]) {
      expect(stdout).toContain('3 orders would be closed (dry run: nothing was changed)');
    }
    expect(JSON.parse(ways.json.stdout)).toMatchObject({ dryRun: true, closed: 3 });
    expect(await statusesOf(world.sql, ids)).toEqual([
      'pending_payment',
      'pending_payment',
      'pending_payment',
    ]);
  });

  it('refuses a paid order and an unknown one, and tells them apart', async () => {
    const [id] = (await place(1)) as [string];
    await world.sql.rows(`UPDATE orders SET status = 'paid', paid_at = now() WHERE id = $1`, [id]);
    const close = (...ids: string[]) =>
      lastcallJson<Outcome>(world.config, [
        'orders',
        'force-close',
        ...ids,
        '--reason',
        'why',
        '--yes',
      ]);
    const [paid, unknown] = await Promise.all([close(id), close(UNKNOWN)]);
    expect([paid.code, unknown.code]).toEqual([4, 3]);
    // What is there has something to show; what is not would only say so again.
    expect(paid.stderr).toContain(`Next: lastcall orders show ${id}`);
    expect(unknown.stderr).toContain('Next: lastcall orders list');
    expect(paid.result.orders).toMatchObject([{ outcome: 'skipped', status: 'paid' }]);
    const [open] = (await place(1)) as [string];
    const some = await close(open, id, UNKNOWN);
    expect(some).toMatchObject({ code: 5, result: { closed: 1, skipped: 2 } });
    expect(await statusesOf(world.sql, [open, id])).toEqual(['closed', 'paid']);
  });

  it('tells what was closed when the database fails for one of several', async () => {
    const [first, poisoned, last] = (await place(3)) as [string, string, string];
    await world.sql.rows(
      `CREATE FUNCTION poisoned() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'poisoned' USING ERRCODE = '23514'; END $$`,
    );
    await world.sql.rows(
      `CREATE TRIGGER poisoned BEFORE UPDATE ON orders FOR EACH ROW
         WHEN (OLD.id = '${poisoned}') EXECUTE FUNCTION poisoned()`,
    );
    const close = (...ids: string[]) => {
      const why = ['--reason', 'why', '--yes'];
      return lastcallJson<Outcome>(world.config, ['orders', 'force-close', ...ids, ...why]);
    };
    const alone = await close(poisoned);
    expect(alone).toMatchObject({ code: 1, result: { closed: 0, failed: 1 } });
    const some = await close(first, poisoned, last);
    expect(some).toMatchObject({
      code: 5,
      result: {
        ...{ asked: 3, closed: 2, failed: 1, notReached: 0 },
        orders: [{ why: null }, { outcome: 'failed', why: 'internal_error' }, { why: null }],
      },
    });
    expect(some.stderr).toContain('force-close: poisoned');
    expect(some.stderr).toContain('Next: run it again');
    await world.sql.rows(
      `CREATE OR REPLACE FUNCTION poisoned() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$`,
    );
    expect(await close(poisoned)).toMatchObject({
      ...{ code: 6, result: { failed: 1, orders: [{ outcome: 'failed', why: 'unavailable' }] } },
    });
    await world.sql.rows('DROP FUNCTION poisoned CASCADE');
    expect(await statusesOf(world.sql, [first, poisoned, last])).toEqual([
      ...['closed', 'pending_payment', 'closed'],
    ]);
  });

  it('closes many only after a confirmation', async () => {
    const ids = await place(2);
    const args = ['orders', 'force-close', ...ids, '--reason', 'sale'];
    const [piped, wrong] = await Promise.all([
      lastcall(world.config, args),
      lastcall(world.config, args, { tty: true, input: 'yes\n' }),
    ]);
    expect([piped.code, wrong.code]).toEqual([8, 8]);
    expect(piped.stderr).toContain('run it again with --yes');
    expect(await statusesOf(world.sql, ids)).toEqual(['pending_payment', 'pending_payment']);
    const typed = await lastcall(world.config, args, { tty: true, input: '2\n' });
    expect(typed.code).toBe(0);
    expect(typed.stdout).toContain('Plan: close 2 now');
    expect(await statusesOf(world.sql, ids)).toEqual(['closed', 'closed']);
  });

  it('takes ids from a file and from stdin, and orders by a filter', async () => {
    const [fromFile, fromStdin] = (await place(2)) as [string, string];
    const mine = await place(3, 'zoe');
    const file = join(tmpdir(), `ids-${process.pid}.txt`);
    await writeFile(file, `# to close\n${fromFile}\n\n`);
    const why = ['--reason', 'why', '--yes'];
    const ended = await Promise.all([
      lastcall(world.config, ['orders', 'force-close', '--file', file, ...why]),
      lastcall(world.config, ['orders', 'force-close', '--file', '-', ...why], {
        input: fromStdin,
      }),
      lastcall(world.config, ['orders', 'force-close', '--customer', 'zoe', ...why]),
    ]);
    expect(ended.map(({ code }) => code)).toEqual([0, 0, 0]);
    const statuses = await statusesOf(world.sql, [fromFile, fromStdin, ...mine]);
    expect(new Set(statuses)).toEqual(new Set(['closed']));
  });

  it('says that a filter may find more than the limit let it close', async () => {
    await place(3, 'ivy');
    const close = (limit: string) =>
      lastcall(world.config, [
        ...['orders', 'force-close', '--customer', 'ivy'],
        ...['--limit', limit, '--reason', 'fraud', '--yes'],
      ]);
    const first = await close('2');
    const rest = await close('2');
    expect([first.code, rest.code]).toEqual([0, 0]);
    expect(first.stderr).toContain('--limit was 2: others may match still');
    expect(rest.stderr).not.toContain('--limit');
  });

  it.each([
    [['--reason', 'why'], 'Name the orders'],
    [['nonsense', '--reason', 'why'], '"nonsense" is not the id of an order'],
    [[UNKNOWN], 'Missing required flag reason'],
    [[UNKNOWN, '--reason', ' no '], '--reason must have 3 to 500 characters'],
    [[UNKNOWN, '--reason', 'erased: by mistake'], '--reason must not begin with "erased:"'],
    [[UNKNOWN, '--overdue', '--reason', 'why'], 'one of the two'],
    [['--file', '/nonexistent', '--reason', 'why'], 'cannot be read (ENOENT)'],
  ])('refuses %j as misuse', async (flags, why) => {
    const ended = await lastcall(world.config, ['orders', 'force-close', ...flags]);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain(why);
  });
});
