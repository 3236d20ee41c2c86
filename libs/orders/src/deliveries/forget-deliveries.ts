import { RETRY_FOR } from './attempt-backoff';

/** A delivery is of use for a while: to look at, to prove, to send again. */
const DELIVERED_FOR = '7 days';
const DEAD_FOR = '30 days';

const settledBefore = (status: string, age: string): string => `
  WITH old AS (
    DELETE FROM webhook_deliveries WHERE id = ANY (ARRAY(
      SELECT id FROM webhook_deliveries
       WHERE status = '${status}' AND settled_at < now() - interval '${age}'
       ORDER BY settled_at LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING 1)
  SELECT count(*)::int AS n FROM old`;

/**
 * Statements for retention, each with `$1` rows at the most and `n`, how many there were: what was
 * delivered a week ago, what died a month ago, and all of endpoints that are deleted; and what has
 * waited for an endpoint that is off is given up when its time is over. So is, after twice that time, what
 * one that takes others has refused: where it refuses more than it can be asked for again, they would grow in number.
 */
export const FORGET_DELIVERIES = [
  settledBefore('delivered', DELIVERED_FOR),
  settledBefore('dead', DEAD_FOR),
  `WITH gone AS (
     DELETE FROM webhook_deliveries WHERE id = ANY (ARRAY(
       SELECT d.id FROM webhook_endpoints e JOIN webhook_deliveries d ON d.endpoint_id = e.id
        WHERE e.status = 'deleted' LIMIT $1 FOR UPDATE OF d SKIP LOCKED)) RETURNING 1)
   SELECT count(*)::int AS n FROM gone`,
  // Its events of the last moment may still be written down.
  `WITH gone AS (
     DELETE FROM webhook_endpoints e
      WHERE status = 'deleted' AND status_at < now() - interval '1 hour' AND $1::int > 0
        AND NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.endpoint_id = e.id) RETURNING 1)
   SELECT 0 * count(*)::int AS n FROM gone`,
  `WITH given_up AS (
     UPDATE webhook_deliveries SET status = 'dead', settled_at = now(),
            error = coalesce(error, 'its endpoint was off for ${RETRY_FOR}')
      WHERE id = ANY (ARRAY(
        SELECT id FROM webhook_deliveries
         WHERE status = 'pending' AND settled_at IS NULL
           AND retry_until < now() AND next_attempt_at < now()
           AND (endpoint_id IN (SELECT id FROM webhook_endpoints WHERE status = 'off')
                OR attempts > 0 AND retry_until < now() - interval '${RETRY_FOR}')
         ORDER BY retry_until LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING 1)
   SELECT count(*)::int AS n FROM given_up`,
] as const;
