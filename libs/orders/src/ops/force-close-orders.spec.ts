import { insertOrders } from '../../../../test/support/insert-orders';
import { statusesOf } from '../../../../test/support/order-statuses';
import { openOrder, paidOrder } from '../../../../test/support/paid-order';
import { silentOrdersTelemetry } from '../../../../test/support/silent-telemetry';
import { startTcpProxy } from '../../../../test/support/tcp-proxy';
import { openWorld, type World } from '../../../../test/support/world';
import { ForceCloseOrder } from '../closing/force-close-order';
import { type CloseResult, ForceCloseOrders } from './force-close-orders';

const OLGA = { actor: 'olga', reason: 'case 9' };

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

/** Of a process, and what it says in the log. */
function forceCloseOf({ dataSource, get }: World, failed = silentOrdersTelemetry.failed) {
  return new ForceCloseOrders(dataSource, get(ForceCloseOrder), {
    ...silentOrdersTelemetry,
    failed,
  });
}

const insert = async (count: number): Promise<string[]> =>
  (await insertOrders(world, { count, closesInMs: 600_000 })).map(({ id }) => id);

/** Whatever would change this order does so instead. */
async function poison(orderId: string | undefined, statement: string): Promise<void> {
  const name = `poison_${orderId?.replaceAll('-', '')}`;
  await world.rows(
    `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN ${statement}; RETURN NEW; END $$`,
  );
  await world.rows(
    `CREATE TRIGGER ${name} BEFORE UPDATE ON orders FOR EACH ROW
       WHEN (OLD.id = '${orderId}') EXECUTE FUNCTION ${name}()`,
  );
}

describe('ForceCloseOrders', () => {
  it('finds an order whose deadline is held, by each filter', async () => {
    const customerId = 'held';
    const [order] = await insertOrders(world, { count: 1, closesInMs: -600_000, customerId });
    await world.rows(
      `WITH held AS (DELETE FROM deadlines WHERE subject_id = $1 RETURNING *)
       INSERT INTO held_deadlines (kind, subject_id, due_at, version, failures, error)
       SELECT kind, subject_id, due_at, version, 8, 'a bug' FROM held`,
      [order?.id],
    );
    for (const filter of [{ overdue: true }, { customerId }, { since: new Date(0) }]) {
      expect(await forceCloseOf(world).find({ ...filter, limit: 10 })).toEqual([order?.id]);
    }
  });

  it('tells of each order by itself, when the database fails for some of them', async () => {
    const ids = await insert(20);
    await poison(ids[3], `RAISE EXCEPTION 'secret' USING ERRCODE = '23514'`);
    await poison(ids[9], 'PERFORM pg_terminate_backend(pg_backend_pid())');
    await poison(ids[12], `RAISE EXCEPTION 'slow' USING ERRCODE = '57014'`);
    const logged: string[] = [];
    const force = forceCloseOf(
      world,
      (what, error) => void logged.push(`${what}: ${String(error)}`),
    );
    const results = await force.run(ids, OLGA);
    expect(results.map(({ orderId }) => orderId)).toEqual(ids);
    const failed = results.filter(({ outcome }) => outcome !== 'closed');
    expect(failed).toEqual([
      {
        ...{ orderId: ids[3], outcome: 'failed', status: null, why: 'internal_error' },
        message: 'A fault of ours (SQLSTATE 23514): the log tells more; please report it',
      },
      {
        ...{ orderId: ids[9], outcome: 'failed', status: null, why: 'unavailable' },
        message: expect.stringContaining('whether it was done is not known; try it again'),
      },
      {
        ...{ orderId: ids[12], outcome: 'failed', status: null, why: 'unavailable' },
        message: expect.stringContaining('Postgres took too long'),
      },
    ]);
    expect(logged.sort()).toEqual([
      expect.stringContaining('force-close: '),
      expect.stringContaining('force-close: '),
      expect.stringContaining('force-close: '),
    ]);
    const statuses = await statusesOf(world, ids);
    expect(statuses.filter((status) => status === 'closed')).toHaveLength(17);
  });

  it.each([
    ['42501', 'The user of DATABASE_URL lacks a right; run node dist/apps/api/src/migrate.js'],
    ['53100', 'The disk of Postgres is full; make room there'],
    ['25006', 'Postgres takes no writes here; point DATABASE_URL at the primary'],
  ])('tells what Postgres has refused, and how to mend it (%s)', async (state, message) => {
    const ids = await insert(2);
    await poison(ids[0], `RAISE EXCEPTION 'secret' USING ERRCODE = '${state}'`);
    const [refused, closed] = await forceCloseOf(world).run(ids, OLGA);
    expect(refused).toMatchObject({ outcome: 'failed', why: 'unavailable' });
    expect(refused?.message).toContain(message);
    expect(closed).toMatchObject({ outcome: 'closed' });
  });

  it('skips what was paid, whether we knew or hear of it from the provider', async () => {
    const orders = [await paidOrder(world), await openOrder(world)];
    world.provider.pay(orders[1]?.paymentId ?? '', new Date());
    const ids = orders.map(({ id }) => id);
    expect(await forceCloseOf(world).run(ids, OLGA)).toEqual(
      ids.map((orderId) => ({
        ...{ orderId, outcome: 'skipped', status: 'paid', why: 'order_not_closable' },
        message: expect.stringContaining(`Order ${orderId} `),
      })),
    );
  });

  it('ends early when the database is gone, and tells what was done before', async () => {
    const proxy = await startTcpProxy(world.config.DATABASE_URL ?? '');
    const behind = await openWorld({ beside: world, databaseUrl: proxy.url });
    try {
      const ids = await insert(300);
      const told: CloseResult[] = [];
      let cut: Promise<void> | undefined;
      const results = await forceCloseOf(behind).run(ids, {
        ...OLGA,
        onResult: (result) => {
          told.push(result);
          if (told.length === 40) cut = proxy.cut();
        },
      });
      await cut;
      const statusOf = new Map(
        (await statusesOf(world, ids)).map((status, place) => [ids[place], status]),
      );
      const closed = results.filter(({ outcome }) => outcome === 'closed');
      expect(closed.length).toBeGreaterThanOrEqual(40);
      expect(closed.map(({ orderId }) => statusOf.get(orderId))).toEqual(
        closed.map(() => 'closed'),
      );
      const failed = results.filter(({ outcome }) => outcome !== 'closed');
      expect(failed.length).toBeGreaterThan(0);
      expect(new Set(failed.map(({ why }) => why))).toEqual(new Set(['unavailable']));
      // Those under way, eight at a time, and no more after these.
      expect(failed.length).toBeLessThanOrEqual(16);
      expect(told).toHaveLength(results.length);
    } finally {
      await proxy.restore();
      await behind.close();
      await proxy.close();
    }
  });
});
