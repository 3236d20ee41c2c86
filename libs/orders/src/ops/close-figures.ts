import { lagMsOf } from '../events/digest-history';
import type { Queryable } from '../order/order-rows';

/** Closes by one cause. */
export interface CauseFigures {
  /** `timer`, `sweep`, `passive`, `customer`, `operator`, ... */
  readonly by: string;
  readonly closes: number;
  /** Lag to within a tenth; null where all closed before their deadline. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

export interface CloseFigures {
  readonly hour: readonly CauseFigures[];
  readonly day: readonly CauseFigures[];
  /** Closes of the last 60 minutes, the oldest first. */
  readonly byMinute: readonly number[];
}

interface Bucket {
  readonly by: string;
  readonly bucket: number;
  readonly day: number;
  readonly hour: number;
}

const MINUTES = 60;
const THIS_MINUTE = `date_trunc('minute', now())`;
const AN_HOUR = `minute > ${THIS_MINUTE} - interval '${MINUTES} minutes'`;

/** From what digest-history.ts has counted; a few seconds old. */
export async function readCloseFigures(sql: Queryable): Promise<CloseFigures> {
  const [buckets, minutes] = await Promise.all([
    sql.rows<Bucket>(
      `SELECT by, bucket::int AS bucket, sum(closes)::float8 AS day,
              coalesce(sum(closes) FILTER (WHERE ${AN_HOUR}), 0)::float8 AS hour
         FROM close_lags WHERE minute > ${THIS_MINUTE} - interval '1 day'
        GROUP BY by, bucket ORDER BY by, bucket`,
    ),
    sql.rows<{ ago: number; closes: number }>(
      `SELECT (extract(epoch FROM ${THIS_MINUTE} - minute) / 60)::int AS ago,
              sum(closes)::float8 AS closes
         FROM close_lags WHERE ${AN_HOUR} AND minute <= ${THIS_MINUTE} GROUP BY 1`,
    ),
  ]);
  const byMinute = new Array<number>(MINUTES).fill(0);
  for (const { ago, closes } of minutes) byMinute[MINUTES - 1 - ago] = closes;
  return { hour: figuresOf(buckets, 'hour'), day: figuresOf(buckets, 'day'), byMinute };
}

function figuresOf(buckets: readonly Bucket[], span: 'hour' | 'day'): CauseFigures[] {
  const causes = new Set(buckets.filter((one) => one[span] > 0).map(({ by }) => by));
  return [...causes].map((by) => {
    const own = buckets.filter((one) => one.by === by && one[span] > 0);
    const closes = own.reduce((sum, one) => sum + one[span], 0);
    const late = own.filter(({ bucket }) => bucket >= 0);
    return { by, closes, p50Ms: lagAt(0.5, late, span), p99Ms: lagAt(0.99, late, span) };
  });
}

/** Of buckets in order: the lag that this share of them does not exceed. */
function lagAt(share: number, late: readonly Bucket[], span: 'hour' | 'day'): number | null {
  let left = share * late.reduce((sum, one) => sum + one[span], 0);
  for (const one of late) {
    left -= one[span];
    if (left <= 0) return lagMsOf(one.bucket);
  }
  return null;
}
