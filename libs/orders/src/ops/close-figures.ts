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

/** Closes of the last 60 minutes, the one under way included, as far as the history is counted. */
export interface RecentCloses {
  /** How late those were that a deadline closed (`timer`, `sweep`, `passive`), each to within a tenth. */
  readonly lag: { readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number };
  /** All of them, by cause. */
  readonly closedBy: Readonly<Record<string, number>>;
  /** Closes from this instant on may not be in the figures yet (ISO 8601). Seconds ago, or less. */
  readonly closesCountedTo: string;
}

/** How many closes are in it. */
type Bucket<Span extends 'hour' | 'day'> = Readonly<Record<Span, number>> & {
  readonly by: string;
  readonly bucket: number;
};

const MINUTES = 60;
const THIS_MINUTE = `date_trunc('minute', now())`;
const AN_HOUR = `minute > ${THIS_MINUTE} - interval '${MINUTES} minutes'`;

/** From what digest-history.ts has counted; a few seconds old. */
export async function readCloseFigures(sql: Queryable): Promise<CloseFigures> {
  const [buckets, minutes] = await Promise.all([
    sql.rows<Bucket<'hour' | 'day'>>(
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

const BY_DEADLINE: readonly string[] = ['timer', 'sweep', 'passive'];

/** From minutes times causes times buckets, however many closes there were. */
export async function readRecentCloses(sql: Queryable): Promise<RecentCloses> {
  const [buckets, [counted]] = await Promise.all([
    sql.rows<Bucket<'hour'>>(
      `SELECT by, bucket::int AS bucket, sum(closes)::float8 AS hour
         FROM close_lags WHERE ${AN_HOUR} GROUP BY by, bucket ORDER BY bucket`,
    ),
    sql.rows<{ to: Date }>(
      `SELECT coalesce((SELECT at FROM order_events WHERE tx >= (SELECT until_tx FROM history_digest)
                         ORDER BY tx LIMIT 1), now()) AS to`,
    ),
  ]);
  const closedBy: Record<string, number> = {};
  for (const { by, hour } of buckets) closedBy[by] = (closedBy[by] ?? 0) + hour;
  const late = buckets.filter(({ by, bucket }) => BY_DEADLINE.includes(by) && bucket >= 0);
  const [p50Ms = 0, p99Ms = 0, maxMs = 0] = [0.5, 0.99, 1].map(
    (share) => lagAt(share, late, 'hour') ?? 0,
  );
  return {
    lag: { p50Ms, p99Ms, maxMs },
    closedBy,
    closesCountedTo: (counted?.to ?? new Date()).toISOString(),
  };
}

function figuresOf(
  buckets: readonly Bucket<'hour' | 'day'>[],
  span: 'hour' | 'day',
): CauseFigures[] {
  const causes = new Set(buckets.filter((one) => one[span] > 0).map(({ by }) => by));
  return [...causes].map((by) => {
    const own = buckets.filter((one) => one.by === by && one[span] > 0);
    const closes = own.reduce((sum, one) => sum + one[span], 0);
    const late = own.filter(({ bucket }) => bucket >= 0);
    return { by, closes, p50Ms: lagAt(0.5, late, span), p99Ms: lagAt(0.99, late, span) };
  });
}

/** Of buckets in order: the lag that this share of them does not exceed. */
function lagAt<Span extends 'hour' | 'day'>(
  share: number,
  late: readonly Bucket<Span>[],
  span: Span,
): number | null {
  let left = share * late.reduce((sum, one) => sum + one[span], 0);
  for (const one of late) {
    left -= one[span];
    if (left <= 0) return lagMsOf(one.bucket);
  }
  return null;
}
