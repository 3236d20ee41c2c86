import { failpoint, inTransaction, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { trying, waitingFor } from '../order/advisory-locks';
import { BACKGROUND } from '../data-source';
import { currentWindow, type Window } from '../events/event-window';
import { RETRY_FOR } from './attempt-backoff';
import { ALL_EVENTS } from './message';

/** Events of one statement: more than a window has, but where one transaction has more. */
const BATCH = 2_000;
/** Batches one run may take, so that a run is bounded. */
const MAX_ROUNDS = 50;

/**
 * Writes down each event of the history as a delivery for each endpoint that wants it: once, and each
 * order's in their order. Reads by windows of transactions, as the relay to the stream does and for
 * the same reason (events/relay-events.ts), with a cursor of its own: it needs no Redis.
 */
@Injectable()
export class FanOutEvents {
  constructor(@Inject(BACKGROUND) private readonly dataSource: DataSource) {}

  async runOnce(stops = (): boolean => false): Promise<{ written: number }> {
    let written = 0;
    for (let round = 0; round < MAX_ROUNDS && !stops(); round++) {
      const batch = await inTransaction(this.dataSource, (tx) => fanOutBatch(tx));
      if (!batch) break;
      written += batch.written;
    }
    return { written };
  }
}

/** Endpoints that were never there cost nothing; the cursor begins anew with the first of them. */
async function fanOutBatch(tx: Transaction): Promise<{ written: number } | undefined> {
  if (!(await leads(tx))) return undefined;
  const [cursor] = await tx.rows<Window>(
    `SELECT tx_from, tx_until, last_id FROM webhook_cursor
      WHERE EXISTS (SELECT FROM webhook_endpoints WHERE status <> 'deleted')`,
  );
  if (!cursor) return undefined;
  const window = await currentWindow(tx, cursor, BATCH - 1);
  if (!window) return undefined;
  const [batch] = await tx.rows<{ events: number; last_id: string | null; written: number }>(
    WRITE_DELIVERIES,
    [window.tx_from, window.tx_until, window.last_id, BATCH, ALL_EVENTS],
  );
  const { events, last_id: lastId, written } = batch as NonNullable<typeof batch>;
  if (written > 0) await failpoint('delivery.written');
  const isThrough = events < BATCH;
  await moveCursor(
    tx,
    isThrough
      ? { tx_from: window.tx_until, tx_until: window.tx_until, last_id: '0' }
      : { ...window, last_id: lastId ?? '0' },
  );
  return { written };
}

/** True for one at a time, until the end of the transaction. */
async function leads(tx: Transaction): Promise<boolean> {
  const [row] = await tx.rows<{ leads: boolean }>(`SELECT ${trying('fanOut')} AS leads`);
  return row?.leads ?? false;
}

/** Has the next run begin here; waits for one that is under way. */
export async function beginAt(tx: Transaction, transaction: string): Promise<void> {
  await tx.rows(`SELECT ${waitingFor('fanOut')}`);
  await moveCursor(tx, { tx_from: transaction, tx_until: transaction, last_id: '0' });
}

async function moveCursor(tx: Transaction, to: Window): Promise<void> {
  await tx.rows(
    `UPDATE webhook_cursor SET tx_from = $1::text::xid8, tx_until = $2::text::xid8, last_id = $3`,
    [to.tx_from, to.tx_until, to.last_id],
  );
}

const WRITE_DELIVERIES = `
  WITH batch AS MATERIALIZED (
    SELECT id, tx, order_id, version, type, at FROM order_events
     WHERE tx >= $1::text::xid8 AND tx < $2::text::xid8 AND id > $3
     ORDER BY id LIMIT $4
  ), written AS (
    INSERT INTO webhook_deliveries (endpoint_id, order_id, version, type, retry_until)
    SELECT e.id, b.order_id, b.version, b.type, now() + interval '${RETRY_FOR}'
      FROM batch b JOIN webhook_endpoints e
        ON e.status <> 'deleted' AND b.tx >= e.from_tx
       AND (b.type = ANY (e.events) OR $5 = ANY (e.events))
     ORDER BY b.id
    ON CONFLICT DO NOTHING RETURNING 1
  )
  SELECT (SELECT count(*)::int FROM batch) AS events, (SELECT max(id) FROM batch) AS last_id,
         (SELECT count(*)::int FROM written) AS written`;
