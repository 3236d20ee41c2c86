import { UNDERSTOOD } from '../database/session-settings';
import type { Transaction } from '../database/transaction';

/** What the host's code may set while it has our transaction, and our own statements behind it go by. */
const OURS = ['search_path', 'role', 'lock_timeout', 'statement_timeout'].concat(
  Object.keys(UNDERSTOOD),
);

/** Lets tables be found as on connections of the host's own. Answers with what {@link leaveHost} takes. */
export async function enterHost(
  tx: Transaction,
  path: string,
  lockLimit?: string,
): Promise<string> {
  const [row] = await tx.rows<{ before: string }>(
    `WITH old AS MATERIALIZED (
       SELECT current_setting('lock_timeout') AS lock_timeout,
              (SELECT json_object_agg(name, current_setting(name))::text
                 FROM unnest($3::text[]) AS name) AS before)
     SELECT before, set_config('search_path', $1, true),
            set_config('lock_timeout', coalesce($2, lock_timeout), true) FROM old`,
    [path, lockLimit ?? null, OURS],
  );
  return (row as { before: string }).before;
}

/** Gives our statements what they had before the host's code, until the transaction ends. */
export async function leaveHost(tx: Transaction, before: string): Promise<void> {
  await tx.rows(
    'SELECT set_config(name, setting, true) FROM json_each_text($1::json) AS ours (name, setting)',
    [before],
  );
}
