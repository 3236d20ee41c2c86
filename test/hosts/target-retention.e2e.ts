import 'reflect-metadata';
import { TargetRetention } from '../../libs/orders/src/targets/target-retention';
import type { LedgerEntry } from '../support/ledger-provider';
import { EXPIRED, PAID } from '../support/numbered-shop';
import { type NumberedShop, openNumberedShop } from '../support/open-numbered-shop';
import { until } from '../support/until';

const LONG_MS = 3_600_000;
/** More than a run takes at once, and as much again that is to stay. */
const OLD = 12_000;

describe('what close targets keep of webhooks', () => {
  let shop: NumberedShop;
  beforeAll(async () => (shop = await openNumberedShop()));
  afterAll(() => shop?.close());
  beforeEach(() => shop.client.query('DELETE FROM lastcall.target_webhooks'));

  const run = (stops?: () => boolean) => shop.module.get(TargetRetention).runOnce(stops);
  const count = async (where: string) =>
    Number(
      (await shop.first(`SELECT count(*) AS n FROM lastcall.target_webhooks WHERE ${where}`))?.n,
    );
  const insert = (rows: string) =>
    shop.client.query(
      `INSERT INTO lastcall.target_webhooks (id, provider, event_id, notice, status, result, received_at)
       SELECT gen_random_uuid(), 'acme', event_id, '{"type": "ignored"}', status, result,
              now() - days * interval '1 day' FROM (${rows}) AS w (event_id, status, result, days)`,
    );
  const makeOld = () =>
    shop.client.query(
      `UPDATE lastcall.target_webhooks SET received_at = now() - interval '8 days'`,
    );

  it('is nothing a week after one came, unless it is not settled, or somebody has dismissed it', async () => {
    await insert(
      `SELECT concat_ws(' ', status, result, days), status, result, days
         FROM unnest('{1, 6, 8, 400}'::int[]) AS days, (VALUES ('received', NULL), ('held', 'money_on_hold'),
           ('processed', 'paid'), ('processed', 'dismissed')) AS s (status, result)`,
    );
    expect(await run()).toEqual({ webhooks: 2 });
    expect(await count('true')).toBe(14);
    expect(await count(`result = 'paid' AND received_at < now() - interval '7 days'`)).toBe(0);
    expect(await run()).toEqual({ webhooks: 0 });
  });

  it('goes on beyond one batch, and ends after that when it is told to stop', async () => {
    await insert(
      `SELECT n::text, 'processed', 'paid', CASE WHEN n <= ${OLD} THEN 8 ELSE 1 END
         FROM generate_series(1, 2 * ${OLD}) AS n`,
    );
    let batches = 0;
    expect(await run(() => (batches += 1) > 1)).toEqual({ webhooks: 5_000 });
    expect(await run()).toEqual({ webhooks: OLD - 5_000 });
    expect(await count('true')).toBe(OLD);
  });

  it('leaves the money known: what is told once more, after that, changes nothing', async () => {
    const [paid, late] = [await shop.place(LONG_MS, ['p-paid']), await shop.place(0, ['p-late'])];
    const isIn = (id: string, state: number) =>
      until(`${id} is ${state}`, () =>
        shop.first('SELECT 1 FROM orders WHERE id = $1 AND state = $2', [id, state]),
      );
    await isIn(late, EXPIRED);
    const told = [
      shop.acme.pay('p-paid', new Date()),
      shop.acme.pay('p-late', new Date(), { late: true }),
    ];
    await Promise.all(told.map((posted) => shop.receive(posted)));
    await isIn(paid, PAID);
    const refunded = `SELECT 1 FROM lastcall.target_refunds WHERE status = 'succeeded'`;
    await until('it is sent back', () => shop.first(refunded));
    await until('both are settled', async () => (await count(`status = 'processed'`)) === 2);
    const money = ['p-paid', 'p-late'].map(
      (one) => shop.acme.entries.get(`pay-${one}`) as LedgerEntry,
    );
    await makeOld();
    expect(await run()).toEqual({ webhooks: 2 });
    // By the same event ids, and by others.
    const again = [...told, ...money.map((one) => shop.acme.succeeded(one))];
    await Promise.all(again.map((posted) => shop.receive(posted)));
    await until('all are settled', async () => (await count(`status = 'processed'`)) === 4);
    expect(await count(`result = 'known'`)).toBe(4);
    expect(await shop.first('SELECT payings FROM orders WHERE id = $1', [paid])).toEqual({
      payings: 1,
    });
    expect(money.map(({ refunds }) => refunds.length)).toEqual([0, 1]);
    expect(await shop.targets.waiting()).toEqual([]);
  });

  it('is no row that lies in the same place of another partition', async () => {
    await shop.client.query(
      `ALTER TABLE lastcall.target_webhooks RENAME TO whole_webhooks;
       CREATE TABLE lastcall.target_webhooks (LIKE lastcall.whole_webhooks INCLUDING DEFAULTS)
         PARTITION BY HASH (id)`,
    );
    for (const part of [0, 1, 2]) {
      await shop.client.query(
        `CREATE TABLE lastcall.webhooks_${part} PARTITION OF lastcall.target_webhooks
           FOR VALUES WITH (MODULUS 3, REMAINDER ${part})`,
      );
    }
    // Every second one is old, so that equal places hold old and new ones.
    await insert(
      `SELECT n::text, 'processed', 'paid', n % 2 * 8 FROM generate_series(1, 300) AS n`,
    );
    expect(await run()).toEqual({ webhooks: 150 });
    expect(await count('true')).toBe(150);
    expect(await count(`received_at < now() - interval '7 days'`)).toBe(0);
  });
});
