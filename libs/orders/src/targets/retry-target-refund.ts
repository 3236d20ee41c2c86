import { LastcallError } from '../order/errors';
import type { TargetSql } from './target-sql';
import { ATTEMPTS_IN_THE_WAY, HAS_NOT_ENDED } from './target-waits';

/**
 * Has a refund go on: by the key of the attempt that was sent last, unless its provider has told its end; one
 * that has failed is over for good, and the next one has a key of its own. False where it does not wait for
 * that (any more).
 * @throws {LastcallError} invalid_request while an attempt stands as made, and nobody has dismissed it
 */
export async function retryTargetRefund(
  tx: TargetSql,
  schema: string,
  id: string,
): Promise<boolean> {
  const [row] = await tx.query<{ made: string | null; isUnended: boolean }>(
    `SELECT ${ATTEMPTS_IN_THE_WAY} AS made, ${HAS_NOT_ENDED} AS "isUnended"
       FROM "${schema}".target_refunds WHERE id = $1 AND status = 'needs_attention' FOR UPDATE`,
    [id],
  );
  if (!row) return false;
  if (row.made !== null) throw goesBackTwice(row.made);
  const how = row.isUnended ? ASKED_AFTER : SENT_ANEW;
  await tx.query(`UPDATE "${schema}".target_refunds SET ${how}, updated_at = now() WHERE id = $1`, [
    id,
  ]);
  return true;
}

const SENT_ANEW = `status = 'requested', attempt = attempt + 1, asked = 0, provider_refund_id = NULL`;
const ASKED_AFTER = `status = CASE WHEN provider_refund_id IS NULL THEN 'requested' ELSE 'pending' END`;

const goesBackTwice = (made: string): LastcallError =>
  new LastcallError(
    'invalid_request',
    `Its provider says that ${made}: sent again, the money would go back twice. End it by "done" where the ` +
      'money is back; where it is not, send it by hand at the provider first',
  );
