import { inTransaction } from '@app/timeout';
import type { DataSource } from 'typeorm';
import { WINDOW_LIMIT_MS } from '../../events/event-window';
import { type Break, verifyHistory } from '../../events/verify-history';
import { onDataSource, type Queryable } from '../../order/order-rows';
import { type Check, finding, ok, warning } from './check';

/** Of each table read again unless all of it is asked for: seconds. */
const NEWEST_ROWS = 200_000;
const SHOWN = 5;
/** Sealed every five minutes; what is older waits for a worker, or for a rewind of the relay. */
const SEALED_WITHIN_S = 3_600;

export interface HistoryOptions {
  readonly key: string | null;
  readonly wholeHistory: boolean;
}

/** Whether the history is what was sealed: its rows, the chain of seals, and who has sealed it. */
export async function examineHistory(
  dataSource: DataSource,
  { key, wholeHistory }: HistoryOptions,
): Promise<Check[]> {
  const sql = onDataSource(dataSource);
  const newest = wholeHistory ? 'all' : NEWEST_ROWS;
  const report = await verifyHistory(sql, key, newest, (read) =>
    inTransaction(dataSource, async (tx) => {
      await tx.limit(WINDOW_LIMIT_MS);
      return read(tx);
    }),
  );
  const { seals, rows, sealedRows, breaks, isSigned } = report;
  const looked = rows < sealedRows ? `the newest ${rows} of ${sealedRows} rows` : `${rows} rows`;
  const checks = [
    breaks.length === 0
      ? ok('history', 'seals', `${seals} seals hold; ${looked} are as sealed`)
      : finding('history', 'seals', describe(breaks), 'docs/runbook.md, "History rewritten"'),
    await waiting(sql),
  ];
  if (seals === 0 || (isSigned && key !== null)) return checks;
  const detail = isSigned
    ? 'signed, and not looked at: HISTORY_SEAL_KEY is not set here'
    : "not signed: the database's owner could make new ones";
  const fix = 'set HISTORY_SEAL_KEY (openssl rand -hex 32) for the workers and for this command';
  return [...checks, warning('history', 'signatures', detail, fix)];
}

function describe(breaks: readonly Break[]): string {
  const shown = breaks
    .slice(0, SHOWN)
    .map(({ history, seal, detail }) => `${history} seal ${seal}: ${detail}`);
  const rest = breaks.length - shown.length;
  return `${shown.join('; ')}${rest > 0 ? `; and ${rest} more` : ''}`;
}

/** By the index on `tx`: whether anything old is behind the newest seal. */
async function waiting(sql: Queryable): Promise<Check> {
  const [row] = await sql.rows<{ seconds: number | null }>(
    `SELECT extract(epoch FROM now() - (
       SELECT at FROM order_events
        WHERE tx >= coalesce((SELECT until_tx FROM history_seals
                               WHERE history = 'order_events' ORDER BY number DESC LIMIT 1), '0')
        ORDER BY tx LIMIT 1))::float8 AS seconds`,
  );
  const seconds = Math.max(0, Math.round(row?.seconds ?? 0));
  const detail = seconds === 0 ? 'all is sealed' : `the oldest event waits for ${seconds} s`;
  if (seconds <= SEALED_WITHIN_S) return ok('history', 'sealed', detail);
  return warning('history', 'sealed', detail, 'a worker seals every five minutes: see its log');
}
