import type { Transaction } from '@app/timeout';

/** Other groups commit sooner, on a disk that is not slow. */
const WAITS_AGAIN_MS = 50;

/** For those who have waited for somebody's lock in vain: what they still do waits for none. */
export async function waitNoMore(tx: Transaction): Promise<void> {
  await tx.rows(`SET LOCAL lock_timeout = ${WAITS_AGAIN_MS}`);
}
