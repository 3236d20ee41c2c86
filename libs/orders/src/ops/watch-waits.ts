import { inTransaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';
import { ALL_WAITS, type WaitName, WAITS } from './waits';

/** Subjects that an alert names; `doctor` and the lists have them all. */
const NAMED = 5;

/** Gives an alert, once, for each waiting state that is older than its greatest age. */
@Injectable()
export class WatchWaits {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  async runOnce(): Promise<{ told: number }> {
    return inTransaction(this.dataSource, async (tx) => {
      const rows = await tx.rows<{ what: WaitName; count: number; subjects: string[] }>(
        `WITH waits AS MATERIALIZED (${ALL_WAITS}), over AS (
           DELETE FROM waits_told t WHERE NOT EXISTS (
             SELECT FROM waits w WHERE w.what = t.what AND w.subject_id = t.subject_id)
         ), told AS (
           INSERT INTO waits_told (what, subject_id)
           SELECT DISTINCT what, subject_id FROM waits WHERE is_too_old
           ON CONFLICT DO NOTHING RETURNING what, subject_id)
         SELECT what, count(*)::int AS count, (array_agg(subject_id))[1:${NAMED}] AS subjects
           FROM told GROUP BY what`,
      );
      // Before the commit: one that is not made is told of again, and none is written and not told.
      for (const { what, count, subjects } of rows) {
        this.telemetry.alert('waits_too_long', { what, count, subjects, exit: WAITS[what].exit });
      }
      return { told: rows.reduce((sum, { count }) => sum + count, 0) };
    });
  }
}
