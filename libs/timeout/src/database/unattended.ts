/**
 * Runs what nobody waits for. What it throws, and what its promise rejects with, is told and ends
 * nothing: left to nobody, one rejection ends a process of Node.
 */
export async function unattended(
  work: () => unknown,
  failed: (error: unknown) => void,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    failed(error);
  }
}
