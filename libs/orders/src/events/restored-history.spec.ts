import { inTransaction } from '@app/timeout';
import { fanOutAll } from '../../../../test/support/fan-out-all';
import { insertOrders, insertProduct } from '../../../../test/support/insert-orders';
import { beginHeldOpen } from '../../../../test/support/held-open';
import { relayAll } from '../../../../test/support/relay-all';
import { until } from '../../../../test/support/until';
import { openWorld, type World } from '../../../../test/support/world';
import { WebhookEndpoints } from '../deliveries/endpoints';
import { FanOutEvents } from '../deliveries/fan-out';
import { runInvariants } from '../invariants/run-invariants';
import { Gauges } from '../ops/gauges';
import { RewindEvents } from '../ops/rewind-events';
import { changeStock } from '../stock/change-products';
import { FoldStock } from '../stock/fold-stock';
import { foldWhereShort, lockProducts } from '../stock/products';
import { RelayEvents } from './relay-events';
import { SealHistory } from './seal-history';

const OPERATOR = { actor: 'ann', reason: 'restored from the dump' };
/**
 * So many transactions fewer has the cluster made that the dump is restored into: more than tests beside this one make
 * on their server before the next step of it.
 */
const FEWER = 10_000;
const NUMBERS = {
  order_events: ['tx'],
  orders: ['event_tx'],
  stock_movements: ['tx'],
  unfolded_stock_movements: ['tx'],
  operator_actions: ['tx'],
  relay_cursor: ['tx_from', 'tx_until'],
  webhook_cursor: ['tx_from', 'tx_until'],
  webhook_endpoints: ['from_tx'],
};

let world: World;
let relay: RelayEvents;
beforeEach(async () => {
  world = await openWorld({
    settings: { WEBHOOKS_ALLOW_PRIVATE: 'on' },
    waitsForLocks: true,
  });
  relay = world.get(RelayEvents);
  await insertProduct(world);
});
afterEach(() => world?.close());

const place = (count: number) => insertOrders(world, { count, closesInMs: 60_000 });
const hear = () =>
  world.get(WebhookEndpoints).create({ url: 'http://127.0.0.1:1', events: ['*'] }, OPERATOR);
/** What a dump carries, in a cluster that counts transactions anew. */
async function restore(): Promise<void> {
  for (const [table, columns] of Object.entries(NUMBERS)) {
    const set = columns.map((name) => `${name} = (${name}::text::bigint + ${FEWER})::text::xid8`);
    await world.rows(`UPDATE ${table} SET ${set.join(', ')}`);
  }
}
/** Until the cluster counts as far as the one that the dump is from. */
const goOn = () =>
  world.owner.rows(`
    DO $$ BEGIN
      FOR i IN 1..${FEWER} LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP;
    END $$`);
async function violations(): Promise<number | undefined> {
  const results = await runInvariants(world, { limitMs: 3_600_000, newest: 'all' });
  return results.find(({ name }) => name === 'events_relayed')?.violations;
}
async function told(table: string): Promise<number> {
  const sql = `SELECT count(*)::int AS n FROM ${table} JOIN orders o ON o.id = order_id`;
  return (await world.rows<{ n: number }>(sql))[0]?.n ?? 0;
}

describe('a history that was restored into another cluster', () => {
  it('is said to be of another one until it is rewound, and loses nothing, where the cluster has caught up', async () => {
    await hear();
    await place(2);
    await relayAll(world);
    await fanOutAll(world, world.get(FanOutEvents));
    await restore();
    expect(await relay.runOnce()).toEqual({ relayed: 0 });
    await place(3);
    await goOn();
    await place(4);
    const background = [relay, world.get(FanOutEvents), world.get(SealHistory)];
    for (const one of background) await one.runOnce();
    await world.rows(`UPDATE relay_cursor SET relayed_at = now() - interval '1 hour'`);
    expect((await world.get(Gauges).read()).relayAgeSeconds).toBeGreaterThan(3_500);
    expect(await violations()).toBeGreaterThan(0);

    const rewind = new RewindEvents(world.dataSource);
    expect(await rewind.rewind(OPERATOR)).toMatchObject({ wasStuck: true });
    await relayAll(world);
    await fanOutAll(world, world.get(FanOutEvents));
    expect(new Set(world.stream.events.map(({ orderId }) => orderId)).size).toBe(9);
    expect(await told('webhook_deliveries')).toBe(9);
    expect(await violations()).toBe(0);
    expect(await rewind.rewind(OPERATOR)).toMatchObject({ wasStuck: false });
  });

  it('is not told to an endpoint that is made before it is rewound', async () => {
    await place(2);
    await relayAll(world);
    await restore();
    await world.rows(`UPDATE order_events SET at = at - interval '1 day'`);
    await hear();
    await place(3);
    await new RewindEvents(world.dataSource).rewind(OPERATOR);
    await fanOutAll(world, world.get(FanOutEvents));
    expect(await told('webhook_deliveries')).toBe(3);
  });

  it('is not said to be of another one by a relay that began as it was rewound', async () => {
    await place(2);
    await relayAll(world);
    await restore();
    const rewinding = await beginHeldOpen(world.dataSource);
    await rewinding.query('SELECT rewind_relay(NULL)');
    const relaying = relay.runOnce();
    await until('the relay waits for the cursor', async () => {
      const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database()
                          AND wait_event_type = 'Lock' AND query LIKE 'UPDATE relay_cursor%'`;
      return (await world.owner.rows(waiting)).length > 0;
    });
    await rewinding.commitTransaction();
    await rewinding.release();
    await relaying;
    await place(3);
    await relayAll(world);
    expect(new Set(world.stream.events.map(({ orderId }) => orderId)).size).toBe(5);
  });

  it('has each movement of its stock folded once, also by one who begins as it is rewound', async () => {
    await insertOrders(world, { count: 2, closesInMs: [-1, 60_000], quantity: 5 });
    await relayAll(world);
    await world.timeouts.runSweep();
    await restore();
    const stock = () =>
      world.rows<{ on_hand: number; reserved: number }>(
        'SELECT on_hand, available, reserved FROM products',
      );
    const [before] = await stock();
    expect(before?.reserved).toBe(10);
    const rewinding = await beginHeldOpen(world.dataSource);
    await rewinding.query('SELECT rewind_relay(NULL)');
    const delivery = [{ sku: 'TEA', delta: 7 }];
    const changing = inTransaction(world.dataSource, (tx) => changeStock(tx, delivery, OPERATOR));
    await until('a change of the stock waits for the rewinding', async () => {
      const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database()
                          AND wait_event_type = 'Lock' AND query LIKE 'SELECT fold_stock_of(%'`;
      return (await world.owner.rows(waiting)).length > 0;
    });
    await rewinding.commitTransaction();
    await rewinding.release();
    await changing;
    await world.get(FoldStock).runOnce();
    const onHand = Number(before?.on_hand) + 7;
    expect(await stock()).toEqual([{ on_hand: onHand, available: onHand - 5, reserved: 5 }]);
  });

  it('is rewound beside who folds what is short, and places it then', async () => {
    await insertOrders(world, { count: 1, closesInMs: 60_000 });
    await relayAll(world);
    await restore();
    const rewinding = await beginHeldOpen(world.dataSource);
    let rewound: Promise<unknown> | undefined;
    await inTransaction(world.dataSource, async (tx) => {
      const { products } = await lockProducts(tx, ['TEA']);
      await foldWhereShort(tx, products, new Map([['TEA', 1_000_000_000]]));
      rewound = rewinding.query('SELECT rewind_relay(NULL)');
      await until('the rewinding waits', async () => {
        const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database()
                            AND wait_event_type = 'Lock' AND query LIKE 'SELECT rewind_relay(%'`;
        return (await world.owner.rows(waiting)).length > 0;
      });
      // As who places does, whose orders come after what was short.
      await tx.rows('UPDATE orders SET version = version WHERE false');
    });
    await rewound;
    await rewinding.commitTransaction();
    await rewinding.release();
  });
});
