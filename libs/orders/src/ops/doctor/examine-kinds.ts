import { queryRows } from '@app/timeout';
import type { DataSource } from 'typeorm';
import { type Check, expectation } from './check';

interface LateKind {
  readonly kind: string;
  readonly count: number;
  /** How many of them a handler has failed with. */
  readonly failed: number;
  readonly oldestMs: number;
}

const FIX =
  'where its handler fails for all ("handlers", and the log of its process), mend that; where no process handles this kind, by this very name, ' +
  'start one; one armed by mistake ends by Timeouts.cancel()';

/** From kind to kind by the index: what waits may be millions. */
const LATE = `
  WITH RECURSIVE kinds AS (
    (SELECT kind FROM deadlines ORDER BY kind LIMIT 1)
    UNION ALL
    SELECT (SELECT d.kind FROM deadlines d WHERE d.kind > k.kind ORDER BY d.kind LIMIT 1)
      FROM kinds k WHERE k.kind IS NOT NULL)
  SELECT kind, late.count::int, late.failed::int, extract(epoch FROM now() - late.oldest)::float8 * 1000 AS "oldestMs"
    FROM kinds, LATERAL (
      SELECT count(*), count(*) FILTER (WHERE failures > 0) AS failed, min(due_at) AS oldest FROM deadlines d
       WHERE d.kind = kinds.kind AND d.due_at <= now() - make_interval(secs => $2::float8 / 1000)) AS late
   WHERE kind <> ALL ($1) AND late.count > 0`;

/**
 * Of kinds that the command knows nothing of, as a host's are: who handles one is in the host's code, and
 * that nobody does is told by what has waited for longer than any sweep takes.
 */
export async function examineKinds(
  dataSource: DataSource,
  { known, limitMs }: { readonly known: readonly string[]; readonly limitMs: number },
): Promise<Check> {
  const late = await queryRows<LateKind>(dataSource, LATE, [known, limitMs]);
  const detail = late.map(
    ({ kind, count, failed, oldestMs }) =>
      `${count} of ${JSON.stringify(kind)}, the oldest by ${Math.round(oldestMs / 1_000)} s` +
      (failed > 0 ? ` (${failed} have failed before)` : ''),
  );
  const isWell = late.length === 0;
  const name = "overdue deadlines of a host's kinds";
  return expectation('flow', name, isWell, isWell ? 'none' : detail.join('; '), FIX);
}
