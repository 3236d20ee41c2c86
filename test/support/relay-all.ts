import { RelayEvents } from '@app/orders';
import { until } from './until';
import type { World } from './world';

/** Relays to the end; other databases of the server have transactions too, behind which it waits. */
export async function relayAll(world: World): Promise<void> {
  await until(
    'everything is relayed',
    async () => {
      await world.get(RelayEvents).runOnce();
      const [row] = await world.rows<{ n: string }>(
        `SELECT count(*) AS n FROM order_events e, relay_cursor c
          WHERE e.tx >= c.tx_from AND (e.tx >= c.tx_until OR e.id > c.last_id)`,
      );
      return Number(row?.n) === 0;
    },
    15_000,
  );
}
