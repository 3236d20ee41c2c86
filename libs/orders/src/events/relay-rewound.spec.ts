import { beginHeldOpen } from '../../../../test/support/held-open';
import { relayStage } from '../../../../test/support/relay-stage';
import { until } from '../../../../test/support/until';
import { openWorld, type World } from '../../../../test/support/world';
import { Gauges } from '../ops/gauges';
import { RewindEvents } from '../ops/rewind-events';
import { FoldStock } from '../stock/fold-stock';

const OPERATOR = { actor: 'ann', reason: 'restored from the dump' };

let world: World;
let stage: ReturnType<typeof relayStage>;
beforeAll(async () => {
  world = await openWorld();
  stage = relayStage(world);
});
afterAll(() => world?.close());
beforeEach(() => {
  world.stream.events.splice(0);
  world.stream.before = async () => undefined;
});

describe('RelayEvents, after a restore or a rewind', () => {
  beforeEach(() => world.rows('TRUNCATE orders, order_items, order_events, deadlines CASCADE'));

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
    const [old, unsent] = await stage.due(2);
    await stage.othersEnded();
    await stage.relay.runOnce();
    await restoreInto(1_000_000_000);
    const orderIds = [old?.id as string];
    await world.timeouts.runSweep();
    await stage.due(1);
    world.stream.events.splice(0);
    expect(await stage.relay.runOnce()).toEqual({ relayed: 0 });
    const [age, relayed] = [world.get(Gauges), 'relay_cursor'];
    await world.rows(`UPDATE ${relayed} SET relayed_at = now() - interval '1 hour'`);
    expect((await age.read()).relayAgeSeconds).toBeGreaterThan(3_500);
    expect(await stage.relayViolations()).toBeGreaterThan(0);
    const rewind = new RewindEvents(world.dataSource);
    expect(await rewind.rewind(OPERATOR)).toMatchObject({ wasStuck: true, events: 5 });
    expect(await stage.relayViolations()).toBe(0);
    await stage.relayToTheEnd();
    expect(stage.sent()).toEqual(expect.arrayContaining([`${old?.id} 2`, `${unsent?.id} 2`]));
    await stage.expectComplete();
    // Whatever is written from now on has a place behind all of it, and comes in order.
    await world.rows('UPDATE orders SET closes_at = now() WHERE id = ANY ($1)', [orderIds]);
    await stage.due(3);
    await world.timeouts.runSweep();
    await stage.relayToTheEnd();
    await stage.expectComplete();
    expect(await stage.relayViolations()).toBe(0);
    expect((await age.read()).relayAgeSeconds).toBe(0);
  });

  it('misses no movement of stock that is folded while it is rewound', async () => {
    await stage.due(1);
    await stage.othersEnded();
    await stage.relay.runOnce();
    await restoreInto(1_000_000_000);
    const fold = () => world.get(FoldStock).runOnce();
    await world.timeouts.runSweep();
    await fold();
    await stage.due(1);
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
    await stage.due(2);
    await stage.othersEnded();
    await stage.relay.runOnce();
    await restoreInto(-500);
    await world.timeouts.runSweep();
    await stage.relayToTheEnd();
    await stage.expectComplete();
    expect(await stage.relayViolations()).toBe(0);
  });

  it('sends again from an instant on', async () => {
    await stage.due(2);
    await stage.relayToTheEnd();
    await world.rows(`UPDATE order_events SET at = at - interval '3 hours'`);
    await stage.due(1);
    await world.timeouts.runSweep();
    await stage.relayToTheEnd();
    world.stream.events.splice(0);
    const to = new Date(Date.now() - 3_600_000);
    const rewind = new RewindEvents(world.dataSource);
    expect(await rewind.rewind({ ...OPERATOR, to })).toMatchObject({ wasStuck: false, events: 4 });
    await stage.relayToTheEnd();
    expect(stage.sent()).toHaveLength(4);
    expect(
      await world.rows(`SELECT actor FROM operator_actions WHERE action = 'events.rewind'`),
    ).toContainEqual({ actor: 'ann' });
  });
});
