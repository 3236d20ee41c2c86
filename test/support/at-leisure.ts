/** A limit of two seconds is one of a minute then. */
const SLOWER = 30;

/**
 * Runs `work` while what this process gives up after a second or two has much longer: its clock goes slowly
 * (`performance.now`), as on a machine that is never busy. Its timers go on, and Postgres' own limits.
 */
export async function atLeisure<T>(work: () => Promise<T>): Promise<T> {
  const { now } = performance;
  const sinceMs = performance.now();
  const slow = jest
    .spyOn(performance, 'now')
    .mockImplementation(() => sinceMs + (now.call(performance) - sinceMs) / SLOWER);
  try {
    return await work();
  } finally {
    slow.mockRestore();
  }
}
