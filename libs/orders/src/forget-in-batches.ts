const MINUTE_MS = 60_000;

/** Half a million rows a run at the most: more than comes in ten minutes. */
export const RETENTION_EVERY_MS = 10 * MINUTE_MS;
/** Rows one statement deletes, and statements one run makes: nobody waits behind it. */
export const BATCH = 5_000;
export const MAX_BATCHES = 100;

/**
 * Runs statements that delete `$1` rows at the most, and tell how many as `n`, each until there are no more; once
 * it `stops`, the one under way is the last. Answers with how many rows are gone.
 */
export async function forgetInBatches(
  rowsOf: (sql: string, params: readonly [most: number]) => Promise<readonly { n: number }[]>,
  statements: readonly string[],
  stops: () => boolean,
): Promise<number> {
  let deleted = 0;
  for (const sql of statements) {
    for (let batch = 0; batch < MAX_BATCHES && !stops(); batch++) {
      const [row] = await rowsOf(sql, [BATCH]);
      deleted += row?.n ?? 0;
      if ((row?.n ?? 0) < BATCH) break;
    }
  }
  return deleted;
}
