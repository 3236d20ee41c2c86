import { Reconcile } from '@app/orders';
import { openWorld } from '../support/world';
import type { Rig } from './rig';

/** What a shop does each night, here the whole time. */
const FOR = { actor: 'olga', reason: 'notices were lost' };

/**
 * Compares the books with the provider again and again, and settles what has one safe answer. What it
 * answers with stops it, and tells how many differences it has settled.
 */
export async function keepReconciling(rig: Rig): Promise<() => Promise<number>> {
  const { SANDBOX_WEBHOOK_SECRET } = rig.secrets;
  const world = await openWorld({
    databaseUrl: rig.databaseUrl,
    configuredProvider: true,
    settings: { SANDBOX_URL: rig.sandboxUrl, SANDBOX_WEBHOOK_SECRET, REDIS_URL: rig.redisUrl },
  });
  const since = new Date(Date.now() - 3_600_000);
  const stopping = new AbortController();
  const onDifference = (): void => undefined;
  const compareAll = async (): Promise<number> => {
    let fixed = 0;
    try {
      while (!stopping.signal.aborted) {
        const request = { since, fixFor: FOR, onDifference, signal: stopping.signal };
        fixed += (await world.get(Reconcile).run(request)).fixed;
      }
    } finally {
      await world.close();
    }
    return fixed;
  };
  const comparing = compareAll();
  // Whoever stops it hears of what it ended by.
  comparing.catch(() => undefined);
  return () => {
    stopping.abort();
    return comparing;
  };
}
