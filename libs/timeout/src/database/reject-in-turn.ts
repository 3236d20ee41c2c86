import { setImmediate } from 'node:timers/promises';

/** Rejects once others had their turn: whoever tries again and again would keep the process from all else. */
export async function rejectInTurn(why: unknown): Promise<never> {
  await setImmediate();
  throw why;
}
