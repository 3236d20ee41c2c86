import { inTransaction } from '@app/timeout';
import type { LedgerEntry } from '../../../../test/support/ledger-entry';
import { openOrder, paidOrder, type Payable, receive } from '../../../../test/support/paid-order';
import { openWorld, type World } from '../../../../test/support/world';
import { type Difference, Reconcile } from './reconcile';
import { readOursOnly } from './reconcile-books';
import { ReconcileRuns } from './reconcile-runs';

const OLD = 20_000;
const WEEK_MS = 7 * 86_400_000;
let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

const since = () => new Date(Date.now() - WEEK_MS);
/** Paid, as its provider has told us, which knows nothing of it any more. */
async function forgotten(): Promise<Payable> {
  const order = await paidOrder(world);
  world.provider.entries.delete(`pay-${order.paymentId}`);
  return order;
}
const openedBefore = ({ paymentId }: Payable, interval: string) =>
  world.rows(`UPDATE payments SET created_at = now() - $2::interval WHERE id = $1`, [
    paymentId,
    interval,
  ]);

async function differences(): Promise<Difference[]> {
  const found: Difference[] = [];
  const onDifference = (one: Difference): void => void found.push(one);
  await world.get(Reconcile).run({ since: since(), onDifference });
  return found;
}
async function oursOnly(): Promise<(string | null)[]> {
  const found = await differences();
  return found.filter(({ kind }) => kind === 'ours_only').map(({ paymentId }) => paymentId);
}

describe('what is ours only', () => {
  it('is told of once its payment is older than the page may be that it is not on', async () => {
    const [fresh, older] = [await forgotten(), await forgotten()];
    await openedBefore(fresh, '30 seconds');
    await openedBefore(older, '90 seconds');
    expect(await oursOnly()).toEqual([older.paymentId]);
    await openedBefore(fresh, '90 seconds');
    expect(await oursOnly()).toEqual([fresh.paymentId, older.paymentId]);
  });

  it('is told of also where its provider has never named it, and an operator has settled it as paid', async () => {
    const [unnamed, unpaid] = [await forgotten(), await openOrder(world)];
    const nameless = [unnamed.paymentId, unpaid.paymentId];
    await world.rows(
      `UPDATE payments SET provider_payment_id = NULL, created_at = now() - interval '90 seconds'
        WHERE id = ANY ($1::uuid[])`,
      [nameless],
    );
    const found = await oursOnly();
    expect(nameless.filter((id) => found.includes(id))).toEqual([unnamed.paymentId]);
  });

  it('is looked for among the payments of its time, however many there were before', async () => {
    const { id } = await forgotten();
    await world.rows(
      `INSERT INTO payments (id, order_id, provider, provider_payment_id, status, amount, currency,
                             expires_at, created_at)
       SELECT overlay(gen_random_uuid()::text PLACING '01800000-0000-7' FROM 1 FOR 15)::uuid, $1,
              'sandbox', 'old-' || n, 'closed', 1000, 'EUR', now(), now() - interval '1 year'
         FROM generate_series(1, $2::int) AS n`,
      [id, OLD],
    );
    await world.rows('ANALYZE payments');
    const run = await world.get(ReconcileRuns).begin(since());
    const read = await inTransaction(world.dataSource, async (tx) => {
      for await (const page of readOursOnly(tx, run, 'sandbox', null)) {
        expect(page.findings.length).toBeGreaterThan(0);
      }
      const [row] = await tx.rows<{ n: string }>(
        `SELECT sum(pg_stat_get_xact_tuples_returned(oid)) AS n FROM pg_class
          WHERE relname LIKE 'payments%'`,
      );
      return Number(row?.n);
    });
    expect(read).toBeLessThan(OLD / 10);
  });
});

describe('money taken under our reference for a payment that we did not open', () => {
  it('is compared with what our books have of it, and not with the payment of that reference', async () => {
    const order = await paidOrder(world);
    const ours = world.provider.entries.get(`pay-${order.paymentId}`) as LedgerEntry;
    const money = { amount: 700, currency: 'EUR', paidAt: new Date() };
    const theirs = { ...ours, id: `other-${order.id}`, amount: 700, money };
    world.provider.entries.set(theirs.id, theirs);
    await receive(world, world.provider.succeeded(theirs));
    const found = await differences();
    expect(found.filter(({ orderId }) => orderId === order.id)).toEqual([]);
  });
});
