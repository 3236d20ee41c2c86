import { type Session, sessionText } from '@app/timeout';
import { RELAY_IS_STUCK } from '../../order/event-tx';
import type { Queryable } from '../../order/order-rows';
import { ago, type Check, expectation, finding } from './check';
import { START_WORKER } from './examine-workers';

const LIMIT_SECONDS = 30;

/**
 * The transaction, of whatever database of the server, that the oldest waiting event is behind: it began first, and
 * has not ended. One that is prepared is of no session.
 */
const HOLDER = `
  WITH open AS MATERIALIZED (SELECT pg_snapshot_xmin(pg_current_snapshot()) AS tx),
       holder AS (
         SELECT pid, datname AS database, application_name AS name, xact_start AS since,
                backend_xid AS xid, NULL AS prepared FROM pg_stat_activity
         UNION ALL
         SELECT NULL, database, NULL, prepared, transaction, quote_literal(gid) FROM pg_prepared_xacts)
  SELECT h.pid, h.database, h.name, h.since, h.prepared
    FROM relay_cursor c, open o JOIN holder h ON h.xid = o.tx::xid
   WHERE event_tx(o.tx) <= (SELECT e.tx FROM order_events e
                             WHERE e.tx >= c.tx_from AND (e.tx >= c.tx_until OR e.id > c.last_id)
                             ORDER BY e.tx LIMIT 1)`;

interface Holder extends Omit<Session, 'pid'> {
  readonly database: string;
  /** Null: it is prepared. */
  readonly pid: number | null;
  /** As a literal of SQL; null: of a session. */
  readonly prepared: string | null;
}

/** Whether events leave, for the stream and in the same way for webhooks; if not, what they wait for. */
export async function examineRelay(sql: Queryable, ageSeconds: number): Promise<Check> {
  const age = ago(ageSeconds * 1_000);
  const [row] = await sql.rows<{ stuck: boolean }>(
    `SELECT ${RELAY_IS_STUCK} AS stuck FROM relay_cursor c`,
  );
  if (row?.stuck) {
    return finding(
      'flow',
      'event relay',
      `the history is of another cluster: nothing was relayed for ${age}`,
      'lastcall events rewind --reason "restored"',
    );
  }
  const isOld = ageSeconds > LIMIT_SECONDS;
  const [holder] = isOld ? await sql.rows<Holder>(HOLDER) : [];
  if (holder) return heldUp(age, holder);
  return expectation(
    'flow',
    'event relay',
    !isOld,
    ageSeconds === 0 ? 'nothing waits' : `the oldest event waits for ${age}`,
    `events leave with a worker and Redis: ${START_WORKER}`,
  );
}

function heldUp(age: string, { pid, prepared, database, name, since }: Holder): Check {
  const who =
    pid === null
      ? `prepared ${prepared}${since ? ` since ${since.toISOString()}` : ''}`
      : sessionText({ pid, name, since });
  const end =
    pid === null
      ? `ROLLBACK PREPARED ${prepared}, or COMMIT PREPARED, in that database`
      : `SELECT pg_terminate_backend(${pid})`;
  return finding(
    'flow',
    'event relay',
    `the oldest event waits for ${age}, behind a transaction of database ${database} that is open: ${who}`,
    `wait for the end of what it does, or end it: ${end}`,
  );
}
