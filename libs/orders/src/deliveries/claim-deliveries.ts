import { LONGEST_BACKOFF_MS } from './attempt-backoff';
import { ATTEMPT_LIMIT_MS } from './post-webhook';

/** Sent to one endpoint at the same time by each worker. */
const AT_ONCE = 16;
/** Longer than an attempt and what follows it take: whoever has not reported by then is gone. */
export const LEASE_MS = 6 * ATTEMPT_LIMIT_MS;

/** An endpoint that fails is asked with one webhook, and again after so long at the most. */
export const LONGEST_PAUSE_MS = 60_000;
/** SQL, of an endpoint `e`. One that is put off for longer was so by a clock that was ahead, and has been set back. */
const IS_PAUSED = `coalesce(
         e.paused_until > now() AND e.paused_until <= now() + ${LONGEST_PAUSE_MS} * interval '1 millisecond', false)`;

/** SQL, of a delivery `d`: no attempt puts one off for so long but by a clock that was ahead, and has been set back. */
const IS_FAR_OFF = `d.next_attempt_at > now() + ${LONGEST_BACKOFF_MS} * interval '1 millisecond'`;

const hasAny = (when: string): string => `EXISTS (
         SELECT FROM webhook_deliveries d WHERE d.endpoint_id = e.id AND d.status = 'pending' AND ${when} OFFSET 0)`;

/** Endpoints that something is due for, or too far off. Two looks, each at an end of the index and not at all that waits between. */
export const WITH_WORK = `
  SELECT id FROM webhook_endpoints e
   WHERE status = 'on' AND NOT ${IS_PAUSED}
     AND (${hasAny('d.next_attempt_at <= now()')} OR ${hasAny(IS_FAR_OFF)})`;

/** Earlier ones of the same order, due or not, come first. */
const IS_FIRST = `NOT EXISTS (
         SELECT FROM webhook_deliveries ahead
          WHERE ahead.endpoint_id = d.endpoint_id AND ahead.order_id = d.order_id
            AND ahead.version < d.version
            AND CASE WHEN ahead.status = 'pending' THEN true END OFFSET 0)`;

/**
 * The lease is the next attempt: whoever reports in time moves it. CASE, OFFSET 0 and ctid: each is found
 * by its own key, not among all that wait, whatever Postgres believes to know of those. A ctid is unique in
 * one partition only, so the key is repeated.
 */
const claiming = (which: string): string => `
  WITH due AS MATERIALIZED (
    SELECT d.ctid AS place, d.id FROM webhook_deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id
     WHERE d.endpoint_id = $1 AND e.status = 'on' AND d.status = 'pending'
       AND NOT ${IS_PAUSED}
       AND d.next_attempt_at <= now() AND ${IS_FIRST}
     ${which}
       FOR UPDATE OF d SKIP LOCKED
  ), claimed AS (
    UPDATE webhook_deliveries d
       SET attempts = attempts + 1, next_attempt_at = now() + $2 * interval '1 millisecond'
     WHERE d.ctid = ANY (ARRAY(SELECT place FROM due))
       AND CASE WHEN d.status = 'pending' THEN d.id IN (SELECT id FROM due) END
    RETURNING d.*
  )
  SELECT c.id, c.endpoint_id AS "endpointId", c.attempts, e.url, e.secret,
         CASE WHEN e.previous_until > now() THEN e.previous_secret END AS "previousSecret",
         c.order_id AS "orderId", c.version, c.type, ev.from_status AS "from", ev.to_status AS "to",
         ev.by, ev.actor, ev.reason, ev.at, o.customer_id AS "customerId", o.amount, o.currency
    FROM claimed c JOIN webhook_endpoints e ON e.id = c.endpoint_id,
    LATERAL (SELECT * FROM order_events
              WHERE order_id = c.order_id AND version = c.version OFFSET 0) AS ev,
    LATERAL (SELECT * FROM orders WHERE id = c.order_id OFFSET 0) AS o`;

/** Of an endpoint that works: some, the first of each order. */
export const CLAIM = claiming(`
     ORDER BY d.next_attempt_at
     LIMIT (SELECT CASE WHEN failing_since IS NULL THEN ${AT_ONCE} ELSE 0 END
              FROM webhook_endpoints WHERE id = $1)`);

const DUE = `SELECT d.ctid, * FROM webhook_deliveries d
              WHERE endpoint_id = $1 AND status = 'pending' AND next_attempt_at <= now()`;
/** Of those that are due, as each of them may be behind another. */
const LOOKED_AT = 1_000;

/**
 * An endpoint that fails is probed by one: by the last that was never tried, as what waits longest may be
 * what it refuses, by the thousand, while it takes all else.
 */
export const PROBE = claiming(`
       AND d.id = coalesce(
         (SELECT id FROM (${DUE} ORDER BY next_attempt_at DESC LIMIT ${LOOKED_AT}) AS d
           WHERE attempts = 0 AND ${IS_FIRST} ORDER BY next_attempt_at DESC LIMIT 1),
         (SELECT id FROM (${DUE} AND ${IS_FIRST} ORDER BY next_attempt_at LIMIT 1) AS d))
     LIMIT (SELECT CASE WHEN failing_since IS NULL THEN 0 ELSE 1 END
              FROM webhook_endpoints WHERE id = $1)`);

/** They may be in the hands of somebody who took them by the wrong clock: such a lease is over by then. */
export const CALL_BACK = `
  WITH far AS MATERIALIZED (
    SELECT d.ctid AS place, d.id FROM webhook_deliveries d
     WHERE d.endpoint_id = $1 AND d.status = 'pending' AND ${IS_FAR_OFF}
     ORDER BY d.next_attempt_at LIMIT ${LOOKED_AT}
       FOR UPDATE SKIP LOCKED
  )
  UPDATE webhook_deliveries d SET next_attempt_at = now() + $2 * interval '1 millisecond'
   WHERE d.ctid = ANY (ARRAY(SELECT place FROM far))
     AND CASE WHEN d.status = 'pending' THEN d.id IN (SELECT id FROM far) END`;

/** Until when the last of those waits that come before it in its order. */
const AHEAD_AGAIN_AT = `(
       SELECT max(ahead.next_attempt_at) FROM webhook_deliveries ahead
        WHERE ahead.endpoint_id = d.endpoint_id AND ahead.order_id = d.order_id
          AND ahead.version < d.version
          AND CASE WHEN ahead.status = 'pending' THEN true END OFFSET 0)`;

/**
 * What is due and cannot go, as an earlier one of its order waits for hours, waits as long as that: else
 * every claim would pass over it until then. What waits for two leases is in nobody's hands, and none ends
 * while this is written.
 */
export const PASS_ON = `
  WITH behind AS MATERIALIZED (
    SELECT d.ctid AS place, d.id
      FROM (${DUE} ORDER BY next_attempt_at LIMIT ${LOOKED_AT}) AS d
     WHERE ${AHEAD_AGAIN_AT} > now() + 2 * $2 * interval '1 millisecond'
  ), ours AS MATERIALIZED (
    SELECT d.ctid AS place, d.id FROM webhook_deliveries d
     WHERE d.ctid = ANY (ARRAY(SELECT place FROM behind))
       AND CASE WHEN d.status = 'pending' THEN d.id IN (SELECT id FROM behind) END
       FOR UPDATE SKIP LOCKED
  )
  UPDATE webhook_deliveries d SET next_attempt_at = ${AHEAD_AGAIN_AT}
   WHERE d.ctid = ANY (ARRAY(SELECT place FROM ours))
     AND CASE WHEN d.status = 'pending' THEN d.id IN (SELECT id FROM ours) END`;
