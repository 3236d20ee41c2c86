import { beginHeldOpen } from '../../../../test/support/held-open';
import { insertOrders } from '../../../../test/support/insert-orders';
import { until } from '../../../../test/support/until';
import { openWorld, type World } from '../../../../test/support/world';
import { OrderGuard } from '../order/order-guard';
import { Transaction } from '@app/timeout';
import { runInvariants } from '../invariants/run-invariants';
import { Gauges } from '../ops/gauges';
import { RewindEvents } from '../ops/rewind-events';
import { FoldStock } from '../stock/fold-stock';
import { RelayEvents } from './relay-events';

const OPERATOR = { actor: 'ann', reason: 'restored from the dump' };

let world: World;
let relay: RelayEvents;
beforeAll(async () => {
  world = await openWorld();
  relay = world.get(RelayEvents);
});
afterAll(() => world?.close());
beforeEach(() => {
  world.stream.events.splice(0);
  world.stream.before = async () => undefined;
});

async function begin() {
  const runner = await beginHeldOpen(world.dataSource);
  const commit = async () => {
    await runner.commitTransaction();
    await runner.release();
  };
  return { sql: new Transaction(runner), commit };
}

const due = (count: number) => insertOrders(world, { count, closesInMs: -1 });
/** Other databases of the server have transactions too, and the relay waits behind those. */
const othersEnded = () =>
  until('older transactions have ended', async () => {
    const [row] = await world.rows<{ ended: boolean }>(
      `SELECT tx < event_tx(pg_snapshot_xmin(pg_current_snapshot())) AS ended
         FROM order_events ORDER BY tx DESC LIMIT 1`,
    );
    return row?.ended === true;
  });
async function relayToTheEnd(): Promise<void> {
  await othersEnded();
  while ((await relay.runOnce()).relayed > 0);
}
async function relayViolations(): Promise<number | undefined> {
  const results = await runInvariants(world, { limitMs: 3_600_000, newest: 'all' });
  return results.find(({ name }) => name === 'events_relayed')?.violations;
}
const sent = () => world.stream.events.map(({ orderId, version }) => `${orderId} ${version}`);

/** Everything has come, once or more; and the first time each version came, those before had come. */
async function expectComplete(): Promise<void> {
  const rows = await world.rows<{ key: string }>(
    `SELECT order_id || ' ' || version AS key FROM order_events`,
  );
  expect(new Set(sent())).toEqual(new Set(rows.map(({ key }) => key)));
  const highest = new Map<string, number>();
  for (const { orderId, version } of world.stream.events) {
    const before = highest.get(orderId) ?? 0;
    expect(version).toBeLessThanOrEqual(before + 1);
    highest.set(orderId, Math.max(before, version));
  }
}

describe('RelayEvents', () => {
  beforeEach(() => world.rows('TRUNCATE orders, order_items, order_events, deadlines CASCADE'));

  it('relays each event once, in order for each order, and then has nothing to do', async () => {
    await due(50);
    await world.timeouts.runSweep();
    await othersEnded();
    expect(await relay.runOnce()).toEqual({ relayed: 100 });
    expect(await relay.runOnce()).toEqual({ relayed: 0 });
    await expectComplete();
  });

  it("asks a stream of the shop's own to take something, or nothing at all", async () => {
    await due(1);
    await relayToTheEnd();
    // It was Redis that had come so far, before the shop had one of its own.
    await world.rows(`UPDATE relay_cursor SET stream_place = '1-0'`);
    const took = jest.spyOn(world.stream, 'append');
    expect(await relay.runOnce()).toEqual({ relayed: 0 });
    expect(took).not.toHaveBeenCalled();
    // Nobody else's stream has come so far any more, also where nothing new comes.
    const places = await world.rows('SELECT stream_place FROM relay_cursor');
    expect(places).toEqual([{ stream_place: null }]);
    await due(1);
    await relayToTheEnd();
    expect(took.mock.calls.map(([events]) => events.length)).toEqual([1]);
    took.mockRestore();
  });

  it('relays more than fits into one batch', async () => {
    await due(6_000);
    await othersEnded();
    expect(await relay.runOnce()).toEqual({ relayed: 6_000 });
    await expectComplete();
  });

  it('notes what a slow stream has taken, before its transaction has been idle for too long', async () => {
    await due(2_000);
    await othersEnded();
    const now = performance.now.bind(performance);
    let [calls, laterMs] = [0, 0];
    jest.spyOn(performance, 'now').mockImplementation(() => now() + laterMs);
    world.stream.before = async () => {
      calls += 1;
      laterMs += 600;
      if (calls === 5) throw new Error('away');
    };
    await expect(relay.runOnce()).rejects.toThrow('away');
    jest.restoreAllMocks();
    world.stream.before = async () => undefined;
    expect(sent()).toHaveLength(1_000);
    await relayToTheEnd();
    expect(sent()).toHaveLength(2_000);
    await expectComplete();
  });

  it('gives way after a batch, and goes on from there', async () => {
    await due(21_000);
    await othersEnded();
    // Each batch of so large a transaction reads all of it.
    expect(await relay.runOnce(() => true)).toEqual({ relayed: 20_000 });
    expect(await relay.runOnce()).toEqual({ relayed: 1_000 });
    await expectComplete();
  });

  it('reads a backlog once, a few transactions at a time', async () => {
    for (let transaction = 0; transaction < 4; transaction++) await due(2_000);
    await othersEnded();
    expect(await relay.runOnce(() => true)).toEqual({ relayed: 4_000 });
    const again = await world.rows(
      `SELECT FROM order_events, relay_cursor
        WHERE tx >= tx_from AND tx < tx_until AND id <= last_id LIMIT 1`,
    );
    expect(again).toEqual([]);
    expect(await relay.runOnce()).toEqual({ relayed: 4_000 });
    await expectComplete();
  });

  it('does not lose what is committed late, after younger events', async () => {
    const [early] = await due(1);
    // Of another product, whose row nobody else wants.
    const [late] = await insertOrders(world, { count: 1, closesInMs: -1, sku: 'POT' });
    const { sql: tx, commit } = await begin();
    const close = {
      from: 'pending_payment',
      to: 'closed',
      closeReason: 'payment_timeout',
    } as const;
    // Takes its ids now and commits last.
    await world
      .get(OrderGuard)
      .change(tx, { ...close, orderIds: [late?.id as string], by: 'timer' });
    await world.timeouts.runSweep();
    await relay.runOnce();
    expect(sent()).not.toContain(`${late?.id} 2`);
    await commit();
    await othersEnded();
    await relay.runOnce();
    expect(sent()).toContain(`${late?.id} 2`);
    expect(sent()).toContain(`${early?.id} 2`);
    await expectComplete();
  });

  it('keeps the order of an order whose older transaction came second', async () => {
    const [order] = await due(1);
    const orderIds = [order?.id as string];
    const [webhook, between, close] = await Promise.all([1, 2, 3].map(() => begin()));
    // Each gets its id now, in this turn; the close then overtakes the webhook.
    for (const tx of [webhook, between, close]) await tx?.sql.rows('SELECT pg_current_xact_id()');
    const by = { orderIds, closeReason: 'payment_timeout' } as const;
    const guard = world.get(OrderGuard);
    await guard.change(close?.sql as Transaction, {
      ...{ ...by, from: 'pending_payment', to: 'closing', by: 'timer' },
    });
    await close?.commit();
    await guard.change(webhook?.sql as Transaction, {
      ...{ orderIds, from: 'closing', to: 'paid', by: 'provider' },
    });
    await webhook?.commit();
    await relay.runOnce();
    await between?.commit();
    await othersEnded();
    await relay.runOnce();
    expect(world.stream.events.map(({ to }) => to)).toEqual(['pending_payment', 'closing', 'paid']);
    await expectComplete();
  });

  it('sends again what the stream did not take, in order', async () => {
    await due(10);
    await world.timeouts.runSweep();
    await othersEnded();
    world.stream.before = () => Promise.reject(new Error('away'));
    await expect(relay.runOnce()).rejects.toThrow('away');
    world.stream.before = async () => undefined;
    await relay.runOnce();
    await expectComplete();
  });

  it('repeats a batch whose cursor was not written, and loses nothing', async () => {
    await due(10);
    await othersEnded();
    const createQueryRunner = world.dataSource.createQueryRunner.bind(world.dataSource);
    const spy = jest.spyOn(world.dataSource, 'createQueryRunner').mockImplementation((mode) => {
      const runner = createQueryRunner(mode);
      runner.commitTransaction = () => Promise.reject(new Error('crash'));
      return runner;
    });
    await expect(relay.runOnce()).rejects.toThrow('crash');
    spy.mockRestore();
    await relay.runOnce();
    expect(sent().length).toBe(20);
    await expectComplete();
  });

  const numbers = (by: number) =>
    ['order_events.tx', 'orders.event_tx', 'stock_movements.tx', 'unfolded_stock_movements.tx']
      .map((place) => place.split('.') as [string, string])
      .map(([table, column]) => [
        table,
        `${column} = (${column}::text::bigint + ${by})::text::xid8`,
      ])
      .concat([
        [
          'relay_cursor',
          ['tx_from', 'tx_until']
            .map((column) => `${column} = (${column}::text::bigint + ${by})::text::xid8`)
            .join(', '),
        ],
      ])
      .map(([table, set]) => `UPDATE ${table} SET ${set}`);
  /** What a dump carries, restored where as many transactions fewer (or more) have been made. */
  async function restoreInto(by: number): Promise<void> {
    for (const statement of numbers(by)) await world.rows(statement);
  }

  it('says that it stands still after a restore, and goes on once it is rewound', async () => {
    const [old, unsent] = await due(2);
    await othersEnded();
    await relay.runOnce();
    await restoreInto(1_000_000_000);
    const orderIds = [old?.id as string];
    await world.timeouts.runSweep();
    await due(1);
    world.stream.events.splice(0);
    expect(await relay.runOnce()).toEqual({ relayed: 0 });
    const [age, relayed] = [world.get(Gauges), 'relay_cursor'];
    await world.rows(`UPDATE ${relayed} SET relayed_at = now() - interval '1 hour'`);
    expect((await age.read()).relayAgeSeconds).toBeGreaterThan(3_500);
    expect(await relayViolations()).toBeGreaterThan(0);
    const rewind = new RewindEvents(world.dataSource);
    expect(await rewind.rewind(OPERATOR)).toMatchObject({ wasStuck: true, events: 5 });
    expect(await relayViolations()).toBe(0);
    await relayToTheEnd();
    expect(sent()).toEqual(expect.arrayContaining([`${old?.id} 2`, `${unsent?.id} 2`]));
    await expectComplete();
    // Whatever is written from now on has a place behind all of it, and comes in order.
    await world.rows('UPDATE orders SET closes_at = now() WHERE id = ANY ($1)', [orderIds]);
    await due(3);
    await world.timeouts.runSweep();
    await relayToTheEnd();
    await expectComplete();
    expect(await relayViolations()).toBe(0);
    expect((await age.read()).relayAgeSeconds).toBe(0);
  });

  it('misses no movement of stock that is folded while it is rewound', async () => {
    await due(1);
    await othersEnded();
    await relay.runOnce();
    await restoreInto(1_000_000_000);
    const fold = () => world.get(FoldStock).runOnce();
    await world.timeouts.runSweep();
    await fold();
    await due(1);
    await world.timeouts.runSweep();
    const owner = await world.owner.dataSource();
    const [holder, rewinder] = [await beginHeldOpen(owner), await beginHeldOpen(owner)];
    await holder.query('SELECT FROM stock_movements FOR UPDATE');
    await rewinder.query('SET LOCAL lock_timeout = 0');
    const rewinding = rewinder.query('SELECT FROM rewind_relay(NULL)');
    const waiting = async (): Promise<number> => {
      const [row] = await world.rows<{ n: number }>(
        `SELECT count(*)::int AS n FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return row?.n ?? 0;
    };
    await until('it waits for what is folded', async () => (await waiting()) > 0);
    const folding = { isOver: false };
    const folded = fold()
      .catch(() => undefined)
      .finally(() => (folding.isOver = true));
    await until('it is folded, or waits', async () => folding.isOver || (await waiting()) > 1);
    await holder.rollbackTransaction();
    await rewinding;
    await rewinder.commitTransaction();
    await Promise.all([folded, holder.release(), rewinder.release()]);
    const strays = ['stock_movements', 'unfolded_stock_movements'].map(
      (table) => `SELECT m.tx FROM ${table} m WHERE at >= (SELECT min(at) FROM order_events)
                     AND NOT EXISTS (SELECT FROM order_events e WHERE e.tx = m.tx)`,
    );
    expect(await world.rows(strays.join(' UNION ALL '))).toEqual([]);
  });

  it('needs nothing where the transactions of the new cluster are ahead', async () => {
    await due(2);
    await othersEnded();
    await relay.runOnce();
    await restoreInto(-500);
    await world.timeouts.runSweep();
    await relayToTheEnd();
    await expectComplete();
    expect(await relayViolations()).toBe(0);
  });

  it('sends again from an instant on', async () => {
    await due(2);
    await relayToTheEnd();
    await world.rows(`UPDATE order_events SET at = at - interval '3 hours'`);
    await due(1);
    await world.timeouts.runSweep();
    await relayToTheEnd();
    world.stream.events.splice(0);
    const to = new Date(Date.now() - 3_600_000);
    const rewind = new RewindEvents(world.dataSource);
    expect(await rewind.rewind({ ...OPERATOR, to })).toMatchObject({ wasStuck: false, events: 4 });
    await relayToTheEnd();
    expect(sent()).toHaveLength(4);
    expect(
      await world.rows(`SELECT actor FROM operator_actions WHERE action = 'events.rewind'`),
    ).toContainEqual({ actor: 'ann' });
  });

  it('has one leader: two at once send nothing twice and nothing out of order', async () => {
    const beside = await openWorld({ beside: world });
    await due(1_500);
    await world.timeouts.runSweep();
    await othersEnded();
    const both = [relay, beside.get(RelayEvents)];
    for (let relayed = 1; relayed > 0;) {
      const counts = await Promise.all(both.map((one) => one.runOnce()));
      relayed = counts.reduce((sum, one) => sum + one.relayed, 0);
    }
    await beside.close();
    expect(sent()).toHaveLength(3_000);
    await expectComplete();
  });
});
