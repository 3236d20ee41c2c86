import type { DataSource } from 'typeorm';
import type { HookTx } from '../../libs/orders/src/order/hook-tx';
import {
  type HooksOrders,
  OrderHook,
  type OrderTransition,
} from '../../libs/orders/src/order/order-hook';
import { CancelOrder } from '../../libs/orders/src/closing/cancel-order';
import { queryRows } from '../../libs/timeout/src/database/query-rows';
import { insertOrders } from '../support/insert-orders';
import { openWorld, type World } from '../support/world';

/** Each change has the next of these run, as where each tenant has a schema and a role of its own. */
const SETTINGS = [
  'SET search_path = pg_temp',
  'SET DateStyle = German',
  `SELECT set_config('search_path', 'nowhere', false)`,
  `SET statement_timeout = '900s'`,
  'SET ROLE pg_monitor',
];
const ROUNDS = 40;

@OrderHook()
class SetsItsSession implements HooksOrders {
  heard = 0;

  async onTransition(_change: OrderTransition, tx: HookTx): Promise<void> {
    await tx.query(SETTINGS[this.heard++ % SETTINGS.length] as string);
  }
}

describe('an @OrderHook() that sets something for its session', () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld({ provides: [SetsItsSession] });
    const user = new URL(world.config.DATABASE_URL).username;
    await world.owner.rows(`GRANT pg_monitor TO "${user}"`);
  });
  afterAll(() => world?.close());

  /** Of all connections that are open: what they are set to. */
  async function settings(dataSource: DataSource): Promise<unknown[]> {
    const all = Array.from({ length: 20 }, () =>
      queryRows(
        dataSource,
        `SELECT current_setting('search_path') AS path, current_setting('DateStyle') AS style,
                current_setting('statement_timeout') AS "limit", current_user AS role,
                pg_sleep(0.02)`,
      ),
    );
    const rows = (await Promise.all(all)).flat();
    return [...new Set(rows.map((row) => JSON.stringify(row)))];
  }

  it('leaves our sessions as they were', async () => {
    const before = await settings(world.dataSource);
    expect(before).toHaveLength(1);
    const orders = await insertOrders(world, { count: ROUNDS, closesInMs: 600_000 });
    for (const { id } of orders) await world.get(CancelOrder).cancel(id, 'ann');
    expect(world.get(SetsItsSession).heard).toBe(ROUNDS);
    expect(await settings(world.dataSource)).toEqual(before);
  });
});
