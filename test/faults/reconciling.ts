import { Reconcile } from '@app/orders';
import { openWorld } from '../support/world';
import type { Rig } from './rig';

/** What a shop does each night, here the whole time. */
const FOR = { actor: 'olga', reason: 'notices were lost' };

/**
 * Compares the books with the provider again and again, and settles what has one safe answer. What it
 * answers with ends that by comparing them once more, and tells how many differences it has settled.
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
  const compare = async (signal?: AbortSignal): Promise<number> => {
    const request = { since, fixFor: FOR, onDifference, ...(signal && { signal }) };
    return (await world.get(Reconcile).run(request)).fixed;
  };
  const compareAll = async (): Promise<number> => {
    let fixed = 0;
    try {
      while (!stopping.signal.aborted) fixed += await compare(stopping.signal);
      // Whatever it has not seen of what happened meanwhile.
      return fixed + (await compare());
    } finally {
      await world.close();
    }
  };
  const comparing = compareAll();
  // Whoever stops it hears of what it ended by.
  comparing.catch(() => undefined);
  return () => {
    stopping.abort();
    return comparing;
  };
}
