import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { onDataSource } from '../order/order-rows';
import { type AuditPage, readAuditTrail } from './audit-trail';
import { type CloseFigures, readCloseFigures, type RecentCloses } from './close-figures';
import { readRelayAge } from './gauges';
import { Overview } from './overview';
import { Statistics, type StatisticsView } from './statistics';
import { type BrakeView, TimeoutBrake } from './timeout-brake';
import { waitsAsSql, type WaitName, WAITS } from './waits';

export interface NowView extends Omit<StatisticsView, 'at' | keyof RecentCloses> {
  readonly closes: CloseFigures;
  /** Null while timeouts run. */
  readonly brake: BrakeView | null;
}

/** Something that waits for a person. */
export interface WaitEntry {
  readonly wait: WaitName;
  readonly subjectId: string;
  /** The order that it belongs to; null where it belongs to none. */
  readonly orderId: string | null;
  readonly since: string;
  /** True when it has waited for longer than it should. */
  readonly isOverdue: boolean;
  readonly owner: 'operator' | 'merchant';
  readonly exit: string;
}

const MOST_LISTED = 200;
const ISO = `'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'`;

/** What the console shows of the whole installation, each by a query that reads a bounded part. */
@Injectable()
export class ConsoleView {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly overview: Overview,
    private readonly statistics: Statistics,
    private readonly brake: TimeoutBrake,
  ) {}

  async now(): Promise<NowView> {
    const [standing, races, timer, relayAgeSeconds, brake, closes] = await Promise.all([
      this.overview.readStanding(),
      this.statistics.readRaces(),
      this.statistics.readTimer(),
      readRelayAge(this.dataSource),
      this.brake.read(),
      readCloseFigures(onDataSource(this.dataSource)),
    ]);
    return { ...standing, races, timer, relayAgeSeconds, brake, closes };
  }

  /** What waits longest comes first; of each kind the oldest 200. */
  async work(): Promise<WaitEntry[]> {
    const rows = await onDataSource(this.dataSource).rows<Omit<WaitEntry, 'exit' | 'owner'>>(
      `SELECT w.what AS wait, w.subject_id AS "subjectId", w.is_too_old AS "isOverdue",
              to_char(w.since AT TIME ZONE 'UTC', ${ISO}) AS since,
              coalesce((SELECT id FROM orders WHERE id = w.subject_id),
                       (SELECT order_id FROM payments WHERE id = w.subject_id),
                       (SELECT p.order_id FROM refunds r, payments p
                         WHERE r.id = w.subject_id AND p.id = r.payment_id)) AS "orderId"
         FROM (${waitsAsSql(MOST_LISTED)}) AS w
        ORDER BY w.since`,
    );
    return rows.map((row) => ({
      ...row,
      owner: WAITS[row.wait].owner,
      exit: WAITS[row.wait].exit,
    }));
  }

  /** Who did what, newest first; `cursor` is the `nextCursor` of the page before. */
  audit(cursor?: string): Promise<AuditPage> {
    return readAuditTrail(onDataSource(this.dataSource), cursor);
  }
}
