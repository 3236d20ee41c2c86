import { runInvariants } from '../../invariants/run-invariants';
import type { Queryable } from '../../order/order-rows';
import { readUnfolded } from '../../stock/fold-stock';
import { type Check, finding, ok, warning } from './check';

/** Up to so many history rows every order is looked at, else those behind the newest: seconds. */
const HISTORY_LOOKED_AT = 200_000;

/** Every invariant. One that the database had no time for breaks nothing, and shows nothing. */
export async function examineInvariants(sql: Queryable, limitMs: number): Promise<Check[]> {
  const results = await runInvariants(sql, { limitMs, newest: HISTORY_LOOKED_AT });
  const checks = results.map(({ id, name, promise, violations, incomplete }) => {
    const check = `${id} ${name}`;
    if (incomplete) {
      return warning('invariants', check, 'it took too long', 'run it when the load is low');
    }
    if (violations === 0) return ok('invariants', check, 'holds');
    const detail = `${violations} ${violations === 1 ? 'violation' : 'violations'}: ${promise}`;
    return finding('invariants', check, detail, 'docs/runbook.md, "Invariant broken"');
  });
  return [...checks, await examineStock(sql)];
}

/** Folded four times a second: what is older waits for something. */
const FOLDED_WITHIN_S = 60;

async function examineStock(sql: Queryable): Promise<Check> {
  const { movements, oldestSeconds } = await readUnfolded(sql);
  const detail = `${movements} movements to fold, the oldest for ${Math.round(oldestSeconds)} s`;
  if (oldestSeconds <= FOLDED_WITHIN_S) return ok('invariants', 'stock is folded', detail);
  return warning('invariants', 'stock is folded', detail, 'docs/runbook.md, "Stock not folded"');
}
