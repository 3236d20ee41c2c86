import { inTransaction, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { BACKGROUND } from '../data-source';
import { trying } from '../order/advisory-locks';
import { nextWindow, WINDOW_LIMIT_MS } from './event-window';

/** Events of one transaction, unless one that wrote them has more. */
const WINDOW_ROWS = 5_000;
/** A run is bounded; the next one goes on. */
const MAX_WINDOWS = 20;
/** The console looks a day back. */
const KEPT = `interval '2 days'`;
/** Four buckets a doubling: a lag that is told from them is off by a tenth at the most. */
const BUCKETS_A_DOUBLING = 4;

/** The lag in the middle of a bucket, in whole milliseconds. */
export const lagMsOf = (bucket: number): number =>
  Math.round(2 ** ((bucket + 0.5) / BUCKETS_A_DOUBLING) - 1);

const BUCKET_OF = (lagMs: string): string =>
  `CASE WHEN ${lagMs} >= 0 THEN floor(${BUCKETS_A_DOUBLING} * ln(1 + ${lagMs}) / ln(2)) ELSE -1 END`;

/**
 * Counts closes by minute, cause and lag, and remembers which events are operators' doing, behind those
 * who write the history, as seals are made (seal-history.ts). An event whose number is changed by
 * `events rewind` after a restore is counted twice: these are figures to look at.
 */
@Injectable()
export class DigestHistory {
  constructor(@Inject(BACKGROUND) private readonly dataSource: DataSource) {}

  /** Reads what is new, or one window while `givesWay` says so. One process at a time. */
  async runOnce(
    givesWay = (): boolean => false,
    windowRows = WINDOW_ROWS,
  ): Promise<{ windows: number }> {
    for (let windows = 0; windows < MAX_WINDOWS; windows += 1) {
      const isMore = await inTransaction(this.dataSource, (tx) => digestNext(tx, windowRows));
      if (!isMore) return { windows };
      if (givesWay()) return { windows: windows + 1 };
    }
    return { windows: MAX_WINDOWS };
  }
}

async function digestNext(tx: Transaction, windowRows: number): Promise<boolean> {
  const [leader] = await tx.rows<{ leads: boolean }>(`SELECT ${trying('digest')} AS leads`);
  if (!leader?.leads) return false;
  const [digest] = await tx.rows<{ until_tx: string }>('SELECT until_tx FROM history_digest');
  const window = await nextWindow(tx, 'order_events', digest?.until_tx ?? '0', windowRows);
  if (!window) return false;
  await tx.limit(WINDOW_LIMIT_MS);
  await tx.rows(DIGEST, [window.fromTx, window.untilTx]);
  await tx.rows(`DELETE FROM close_lags WHERE minute < now() - ${KEPT}`);
  await tx.rows('UPDATE history_digest SET until_tx = $1::text::xid8', [window.untilTx]);
  return true;
}

/** The lag by a value, not a join: a join may be planned by reading all orders. */
const DIGEST = `
  WITH told AS MATERIALIZED (
    SELECT order_id, version, by, at,
           to_status = 'closed' AND from_status <> 'closed' AND at > now() - ${KEPT} AS is_close
      FROM order_events
     WHERE tx >= $1::text::xid8 AND tx < $2::text::xid8 AND (by = 'operator' OR to_status = 'closed')
  ), closes AS (
    SELECT date_trunc('minute', at) AS minute, by,
           (SELECT extract(epoch FROM o.closed_at - o.closes_at)::float8 * 1000
              FROM orders o WHERE o.id = told.order_id) AS lag_ms
      FROM told WHERE is_close
  ), counted AS (
    INSERT INTO close_lags (minute, by, bucket, closes)
    SELECT minute, by, ${BUCKET_OF('lag_ms')}, count(*) FROM closes GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (minute, by, bucket) DO UPDATE SET closes = close_lags.closes + excluded.closes
  )
  INSERT INTO operator_events (order_id, version, at)
  SELECT order_id, version, at FROM told WHERE by = 'operator' ON CONFLICT DO NOTHING`;
