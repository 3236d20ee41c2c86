import { queryRows } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { onDataSource } from '../order/order-rows';
import { Statistics, type StatisticsView } from './statistics';
import { type BrakeView, TimeoutBrake } from './timeout-brake';
import { waitsAsSql, type WaitName, WAITS } from './waits';

export interface NowView extends StatisticsView {
  /** Null while timeouts run. */
  readonly brake: BrakeView | null;
  /** Unpaid orders that are due in the next minute, the one after it, ... fifteen of them. */
  readonly dueByMinute: readonly number[];
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
  readonly exit: string;
}

export interface AuditEntry {
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly subjectKind: string;
  readonly subjectId: string;
  readonly reason: string;
}

const MINUTES = 15;
/** More than these are not counted: a view must not read a table. */
const MOST_COUNTED = 100_000;
const MOST_LISTED = 200;
const ISO = `'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'`;

/** What the console shows of the whole installation, each by a query that reads a bounded part. */
@Injectable()
export class ConsoleView {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly statistics: Statistics,
    private readonly brake: TimeoutBrake,
  ) {}

  async now(): Promise<NowView> {
    const [statistics, brake, dueByMinute] = await Promise.all([
      this.statistics.read(),
      this.brake.read(),
      this.#dueByMinute(),
    ]);
    return { ...statistics, brake, dueByMinute };
  }

  /** What waits longest comes first; of each kind the oldest 200. */
  async work(): Promise<WaitEntry[]> {
    const rows = await onDataSource(this.dataSource).rows<Omit<WaitEntry, 'exit'>>(
      `SELECT w.what AS wait, w.subject_id AS "subjectId", w.is_too_old AS "isOverdue",
              to_char(w.since AT TIME ZONE 'UTC', ${ISO}) AS since,
              coalesce(o.id, p.order_id, rp.order_id) AS "orderId"
         FROM (${waitsAsSql(MOST_LISTED)}) AS w
         LEFT JOIN orders o ON o.id = w.subject_id
         LEFT JOIN payments p ON p.id = w.subject_id
         LEFT JOIN refunds r ON r.id = w.subject_id
         LEFT JOIN payments rp ON rp.id = r.payment_id
        ORDER BY w.since`,
    );
    return rows.map((row) => ({ ...row, exit: WAITS[row.wait].exit }));
  }

  /** Who did what, newest first; what changed orders is in their own history. */
  audit(): Promise<AuditEntry[]> {
    return queryRows<AuditEntry>(
      this.dataSource,
      `SELECT to_char(at AT TIME ZONE 'UTC', ${ISO}) AS at, actor, action,
              subject_kind AS "subjectKind", subject_id AS "subjectId", reason
         FROM operator_actions ORDER BY id DESC LIMIT ${MOST_LISTED}`,
    );
  }

  async #dueByMinute(): Promise<number[]> {
    const rows = await queryRows<{ minute: number; n: number }>(
      this.dataSource,
      `SELECT least(${MINUTES - 1}, floor(extract(epoch FROM due_at - now()) / 60))::int AS minute,
              count(*)::int AS n
         FROM (SELECT due_at FROM deadlines
                WHERE kind = 'payment' AND due_at > now()
                  AND due_at < now() + interval '${MINUTES} minutes'
                ORDER BY due_at LIMIT ${MOST_COUNTED}) AS near
        GROUP BY 1`,
    );
    const counts = new Array<number>(MINUTES).fill(0);
    for (const { minute, n } of rows) counts[minute] = n;
    return counts;
  }
}
