/** Thrown inside a transaction to undo what was only rehearsed. */
class Rehearsed<T> extends Error {
  constructor(readonly outcome: T) {
    super('rolled back on purpose');
  }
}

/**
 * Runs a transaction for real, or runs it and rolls it back: `attempt` passes its outcome through
 * `end` as the last thing inside its transaction. So a dry run refuses what the real one refuses.
 */
export async function rehearse<T>(
  dryRun: boolean,
  attempt: (end: (outcome: T) => T) => Promise<T>,
): Promise<T> {
  try {
    return await attempt((outcome) => {
      if (dryRun) throw new Rehearsed(outcome);
      return outcome;
    });
  } catch (error) {
    if (error instanceof Rehearsed) return error.outcome as T;
    throw error;
  }
}
