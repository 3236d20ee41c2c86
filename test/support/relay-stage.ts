import { runInvariants } from '@app/orders';
import { RelayEvents } from '../../libs/orders/src/events/relay-events';
import { insertOrders } from './insert-orders';
import { until } from './until';
import type { World } from './world';

/** What tests of the relay ask and do, in a world whose stream keeps what comes. */
export function relayStage(world: World) {
  const relay = world.get(RelayEvents);
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

  return { relay, due, othersEnded, relayToTheEnd, relayViolations, sent, expectComplete };
}
