import { migrateCloseTargets } from '../../libs/orders/src/targets';
import type { TargetWait } from '@app/orders/look';
import type { Check, Config } from '@app/orders';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { CLI_TEST_TIMEOUT_MS } from '../support/cli-world';
import {
  endHost,
  expectConventions,
  inFourWays,
  lastcall,
  lastcallJson,
  operatorNamed,
} from '../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

const REFUND = '0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f';

describe('lastcall targets, for a shop that has no tables of the order module', () => {
  let database: TestDatabase;
  let client: Client;
  let config: Config;

  beforeAll(async () => {
    database = await createTestDatabase();
    config = { DATABASE_URL: database.url } as Config;
    client = new Client(database.url);
    await client.connect();
  });
  afterAll(async () => {
    await endHost();
    await client?.end();
    await database?.drop();
  });

  it('says where there are none', async () => {
    const { code, stderr } = await lastcall(config, ['targets', 'list']);
    expect(code).toBe(3);
    expect(stderr).toContain('The schema "lastcall" has no tables of close targets');
  });

  describe('with an order behind the fence, and a refund that cannot be made', () => {
    const settle = (id: string, ...flags: string[]) =>
      lastcallJson<{ error?: { code: string } }>(config, ['targets', 'settle', id, ...flags]);
    const BY = ['--reason', 'case 17', '--actor', 'eve'];

    beforeAll(async () => {
      await migrateCloseTargets({ postgres: { url: database.url } });
      await client.query(`
        INSERT INTO lastcall.target_orders (kind, order_id, status, reason, attempts, error, changed_at)
        VALUES ('order-close', '47/11', 'closing', 'payment_timeout', 12, 'acme: 503', now() - interval '10 minutes'),
               ('order-close', '12', 'closing', 'payment_timeout', 1, NULL, now())`);
      await client.query(`
        INSERT INTO lastcall.target_refunds (id, provider, payment_id, provider_payment_id, kind, order_id, amount,
                                             currency, reason, status, error)
        VALUES ('${REFUND}', 'acme', 'p-1', 'P1', 'order-close', '9', 1999, 'EUR', 'late_payment',
                'needs_attention', 'card expired')`);
    });

    it('lists both in all four ways, and the doctor finds them', async () => {
      const ways = await inFourWays(config, ['targets', 'list', '--overdue']);
      expectConventions(ways, 0);
      for (const { stdout } of [ways.tty, ways.pipe, ways.noColor]) {
        expect(stdout).toContain('card expired');
        expect(stdout).toContain('payment_timeout, asked 12 times: acme: 503');
        expect(stdout).toContain('19.99 EUR');
      }
      const { items } = JSON.parse(ways.json.stdout) as { items: TargetWait[] };
      expect(items.map(({ id }) => id)).toEqual(['order:order-close/47%2F11', `refund:${REFUND}`]);
      const { code, result } = await lastcallJson<{ checks: Check[] }>(config, ['doctor']);
      const found = result.checks.filter(({ name }) => name.startsWith('close targets: '));
      expect(found.filter(({ state }) => state === 'finding').map(({ detail }) => detail)).toEqual([
        expect.stringMatching(/^2, 1 for longer than they may/),
        expect.stringMatching(/^1, 1 for longer/),
      ]);
      expect(code).not.toBe(0);
      expect(result.checks.find(({ name }) => name === 'tables')?.state).toBe('ok');
      expect(result.checks.some(({ name }) => name === 'migrations')).toBe(false);
    });

    it('says where the tables are of an older version, and the doctor does', async () => {
      const rename = (from: string, to: string) =>
        client.query(`ALTER TABLE lastcall.target_orders RENAME COLUMN ${from} TO ${to}`);
      await rename('error', 'not_there_yet');
      try {
        const { code, stderr } = await lastcall(config, ['targets', 'list']);
        expect(code).toBe(3);
        expect(stderr).toContain('are of an older version than this command');
        const { result } = await lastcallJson<{ checks: Check[] }>(config, ['doctor']);
        const found = result.checks.filter(({ name }) => name.startsWith('close targets: '));
        expect(found).toMatchObject([{ name: 'close targets: tables', state: 'finding' }]);
      } finally {
        await rename('not_there_yet', 'error');
      }
    });

    it('rehearses, tells the shop what to do, and writes down who said so', async () => {
      const id = 'order:order-close/47%2F11';
      const read = async () => {
        const { rows } = await client.query(
          `SELECT o.told, o.told_payment AS payment, s.kind AS asked, a.actor, a.action, a.reason
             FROM lastcall.target_orders o
             LEFT JOIN lastcall.timeout_subjects s ON s.subject = o.order_id AND s.due_at <= now()
             LEFT JOIN lastcall.target_actions a ON a.subject = $1 WHERE o.order_id = '47/11'`,
          [id],
        );
        return rows as unknown[];
      };
      expect((await settle(id, '--as', 'paid', '--yes', ...BY)).result.error?.code).toBe(
        'invalid_request',
      );
      const shown = await settle(id, '--as', 'closed', '--dry-run', ...BY);
      expect([shown.code, shown.stderr]).toEqual([0, expect.stringMatching(/^waits +/)]);
      expect(await read()).toEqual([expect.objectContaining({ told: null, actor: null })]);
      const paid = await settle(id, '--as', 'paid', '--payment', 'p-7', '--yes', ...BY);
      expect(paid.code).toBe(0);
      expect(await read()).toEqual([
        {
          ...{ told: 'paid', payment: 'p-7', asked: 'order-close.closing' },
          ...{ actor: operatorNamed('eve'), action: 'order_closing.paid', reason: 'case 17' },
        },
      ]);
    });

    it('has the refund tried again once, with a key of its own', async () => {
      expect((await settle(`refund:${REFUND}`, '--as', 'retry', '--yes', ...BY)).code).toBe(0);
      const { rows } = await client.query(
        `SELECT r.status, r.attempt, s.kind FROM lastcall.target_refunds r
           JOIN lastcall.timeout_subjects s ON s.subject = r.id::text`,
      );
      expect(rows).toEqual([{ status: 'requested', attempt: 2, kind: 'lastcall.refund' }]);
      const again = await settle(`refund:${REFUND}`, '--as', 'retry', '--yes', ...BY);
      expect([again.code, again.result.error?.code]).toEqual([2, 'invalid_request']);
      expect((await settle('refund:nonsense', '--as', 'retry', '--yes', ...BY)).code).toBe(3);
    });

    it('lists what waits for too long, however much older work is within its time', async () => {
      await client.query(`
        INSERT INTO lastcall.target_refunds (id, provider, payment_id, provider_payment_id, kind, order_id, amount,
                                             currency, reason, status, created_at)
        SELECT gen_random_uuid(), 'acme', 'bank-' || n, 'B' || n, 'order-close', n::text, 500, 'EUR', 'late_payment',
               'pending', now() - interval '2 days' FROM generate_series(1, 250) AS n
        UNION ALL
        SELECT gen_random_uuid(), 'acme', 'away-1', 'A1', 'order-close', 'away', 500, 'EUR', 'late_payment',
               'requested', now() - interval '2 hours'`);
      const flags = ['targets', 'list', '--overdue'];
      const { result } = await lastcallJson<{ items: TargetWait[] }>(config, flags);
      const refunds = result.items.filter(({ what }) => what === 'refund_unfinished');
      expect(refunds.map(({ subject }) => subject)).toEqual(['away']);
    });

    it('says how many more there are than it lists', async () => {
      type Listed = { items: TargetWait[]; unlisted: { what: string; count: number }[] };
      const list = (...flags: string[]) =>
        lastcallJson<Listed>(config, ['targets', 'list', ...flags]);
      await client.query(`
        INSERT INTO lastcall.target_refunds (id, provider, payment_id, provider_payment_id, kind, order_id, amount,
                                             currency, reason, status, created_at)
        VALUES (gen_random_uuid(), 'acme', 'away-2', 'A2', 'order-close', 'away', 500, 'EUR', 'late_payment',
                'requested', now() - interval '2 hours')`);
      const { result, stderr } = await list();
      expect(result.unlisted).toEqual([{ what: 'refund_unfinished', count: 53 }]);
      expect(stderr).toContain('Not listed: 53 refund_unfinished. More: --limit NUMBER');
      const waits = await list('--limit', '1000');
      expect(waits.result.unlisted).toEqual([]);
      expect(waits.result.items).toHaveLength(result.items.length + 53);
      const overdue = await list('--overdue', '--limit', '1');
      expect(overdue.result.unlisted).toEqual([{ what: 'refund_unfinished', count: 1 }]);
    });
  });
});
