import { RelayEvents } from '@app/orders';
import { until } from './until';
import type { World } from './world';

/**
 * Relays to the end, as the workers' loop does: what fails is tried again. Other databases of the
 * server have transactions too, behind which it waits.
 */
export async function relayAll(world: World, relay = world.get(RelayEvents)): Promise<void> {
  let failure: Error | undefined;
  const isRelayed = async (): Promise<boolean> => {
    failure = undefined;
    await relay.runOnce().catch((error: Error) => (failure = error));
    const [row] = await world.rows<{ n: string }>(
      `SELECT count(*) AS n FROM order_events e, relay_cursor c
        WHERE e.tx >= c.tx_from AND (e.tx >= c.tx_until OR e.id > c.last_id)`,
    );
    return Number(row?.n) === 0;
  };
  await until('everything is relayed', isRelayed).catch((late: Error) => {
    throw failure ?? late;
  });
}
