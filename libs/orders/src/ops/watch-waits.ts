import { inTransaction, TimeLimitError, withTimeLimit } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { BACKGROUND } from '../data-source';
import { TELL_OF_ALERT, type TellOfAlert } from '../order/telemetry';
import { ALL_WAITS, type WaitName, WAITS } from './waits';

/** Subjects that an alert names; `doctor` and the lists have them all. */
const NAMED = 5;
/** Less than a transaction of ours may stand still. */
const GIVEN_WITHIN_MS = 2_000;

/**
 * Gives an alert, once, for each waiting state that is older than its greatest age; and once more where
 * it has begun anew, as a refund does that is tried again.
 */
@Injectable()
export class WatchWaits {
  constructor(
    @Inject(BACKGROUND) private readonly dataSource: DataSource,
    @Inject(TELL_OF_ALERT) private readonly tell: TellOfAlert,
  ) {}

  /** Rejects where an alert could not be given: then all of this run are given again by the next. */
  async runOnce(): Promise<{ told: number }> {
    return inTransaction(this.dataSource, async (tx) => {
      const rows = await tx.rows<{ what: WaitName; count: number; subjects: string[] }>(
        `WITH waits AS MATERIALIZED (${ALL_WAITS}), over AS (
           -- Of waits that only a newer version knows, that one tells.
           DELETE FROM waits_told t WHERE t.what = ANY ($1) AND NOT EXISTS (
             SELECT FROM waits w WHERE w.what = t.what AND w.subject_id = t.subject_id AND w.is_too_old)
         ), told AS (
           INSERT INTO waits_told (what, subject_id)
           SELECT DISTINCT what, subject_id FROM waits WHERE is_too_old
           ON CONFLICT DO NOTHING RETURNING what, subject_id)
         SELECT what, count(*)::int AS count, (array_agg(subject_id))[1:${NAMED}] AS subjects
           FROM told GROUP BY what`,
        [Object.keys(WAITS)],
      );
      // Before the commit: one that is not made is told of again, and none is written and not told.
      await Promise.all(
        rows.map(({ what, count, subjects }) =>
          this.#give({ what, count, subjects, exit: WAITS[what].exit }),
        ),
      );
      return { told: rows.reduce((sum, { count }) => sum + count, 0) };
    });
  }

  /** A host whose pager takes its time has been told. */
  async #give(fields: Readonly<Record<string, unknown>>): Promise<void> {
    const given = (async () => this.tell('waits_too_long', fields))();
    await withTimeLimit(given, GIVEN_WITHIN_MS, 'The alert').catch((error: unknown) => {
      if (!(error instanceof TimeLimitError)) throw error;
    });
  }
}
