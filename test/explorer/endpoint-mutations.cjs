// Seeded bugs of outgoing webhooks, found by programs whose endpoints fail; see mutations.cjs.

const { seededIn } = require('./seeded-in.cjs');

const seeded = seededIn('libs/orders/src/deliveries/', { withEndpoints: true });

const ENDPOINT_MUTATIONS = [
  seeded(
    'webhooks-overtake-what-waits',
    'A webhook is held back by earlier ones of its order that are due, and not by such as wait to be tried again',
    'claim-deliveries.ts',
    `            AND ahead.version < d.version
            AND CASE WHEN ahead.status = 'pending' THEN true END OFFSET 0)\`;`,
    `            AND ahead.version < d.version
            AND CASE WHEN ahead.status = 'pending' THEN ahead.next_attempt_at <= now() END OFFSET 0)\`;`,
  ),
  seeded(
    'fan-out-passes-the-unfinished',
    'Events are written down as webhooks up to now, past transactions that have not ended',
    'fan-out.ts',
    'UPDATE webhook_cursor SET tx_from = $1::text::xid8, tx_until = $2::text::xid8, last_id = $3',
    `UPDATE webhook_cursor SET last_id = $3, tx_from = greatest($1::text::xid8, event_tx(pg_snapshot_xmax(pg_current_snapshot()))),
       tx_until = greatest($2::text::xid8, event_tx(pg_snapshot_xmax(pg_current_snapshot())))`,
  ),
  seeded(
    'time-without-workers-counts',
    'An endpoint is switched off for the days in which nobody asked it',
    'deliver-webhooks.ts',
    "least(now() - coalesce(failed_at, now()), ${LONGEST_BACKOFF_MS} * interval '1 millisecond')",
    'now() - coalesce(failed_at, now())',
  ),
  {
    ...seeded(
      'begins-anew-for-each-endpoint',
      'Events that are not written down yet are lost for all endpoints as another is made',
      'endpoints.ts',
      'if (endpoints === 0) await beginAt(tx, now);',
      'await beginAt(tx, now);',
    ),
    spec: 'libs/orders/src/deliveries/fan-out.spec.ts',
  },
  {
    ...seeded(
      'deleted-endpoint-comes-back',
      'An endpoint that says it is gone once it is deleted becomes one that is switched off',
      'deliver-webhooks.ts',
      "WHERE e.id = off.id AND e.status = 'on'",
      'WHERE e.id = off.id',
    ),
    spec: 'libs/orders/src/deliveries/endpoints.spec.ts',
  },
];

module.exports = { ENDPOINT_MUTATIONS };
