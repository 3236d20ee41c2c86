import { EndWish } from './end-wish';
import { pause } from '../pause';
import { warn } from '../warn';

const PAUSE_MS = 1_000;
/** As long as a migration waits. */
const WAITS_FOR_MS = 5 * 60_000;
const TELLS_EVERY_MS = 10_000;

/** What is said of an error that passes by itself; undefined for any other, which ends the start. */
export type WaitsFor = (error: unknown) => (() => Promise<string> | string) | undefined;

/**
 * Something without which a process does not start, again and again while it fails by what passes. A process that
 * ended instead would be started again later and later, and be away for long after that. What it waits for is told
 * as a warning of the process.
 * @throws what the attempt does; what passes by itself after five minutes only, or once the process is to end
 */
export async function startAgain<T>(attempt: () => Promise<T>, waitsFor: WaitsFor): Promise<T> {
  const begunMs = performance.now();
  const end = new EndWish();
  let toldMs = -Infinity;
  try {
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        const nowMs = performance.now();
        const says = waitsFor(error);
        if (!says || end.isWished || nowMs - begunMs > WAITS_FOR_MS) throw error;
        if (nowMs - toldMs >= TELLS_EVERY_MS) {
          toldMs = nowMs;
          warn(await says());
        }
      }
      await end.orEnd(pause(PAUSE_MS));
    }
  } finally {
    end.forget();
  }
}
