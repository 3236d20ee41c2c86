import type { Transaction } from '@app/timeout';

/** How far somebody has read the history: windows of transactions, and within one by id. */
export interface Window {
  readonly tx_from: string;
  readonly tx_until: string;
  readonly last_id: string;
}

/** A window that was not finished is gone on with; else the next one reaches up to xmin. */
export async function currentWindow(tx: Transaction, cursor: Window): Promise<Window> {
  if (cursor.tx_from !== cursor.tx_until) return cursor;
  return { tx_from: cursor.tx_until, tx_until: await oldestUnfinished(tx), last_id: '0' };
}

/** All transactions before this one have ended, in the numbers of the history. */
export async function oldestUnfinished(tx: Transaction): Promise<string> {
  const [row] = await tx.rows<{ xmin: string }>(
    'SELECT event_tx(pg_snapshot_xmin(pg_current_snapshot()))::text AS xmin',
  );
  return (row as { xmin: string }).xmin;
}
