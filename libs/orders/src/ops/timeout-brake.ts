import { findPlace, inTransaction, queryRows, readStopped, releaseBrake } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Config } from '../config';
import { DATABASE } from '../data-source';
import { ASKING_KINDS } from '../order/deadline-table';
import { LastcallError } from '../order/errors';
import { type ActionRun, recordAction } from '../order/operator-action';
import { rehearse } from '../order/rehearse';

/** Why timeouts stand still, and since when. */
export interface BrakeView {
  readonly id: string;
  readonly cause: string;
  readonly kind: string;
  /** Deadlines of that kind that were due when it engaged, and how many there were. */
  readonly due: number;
  readonly waiting: number;
  readonly engagedAt: Date;
}

/** Kinds that ask are put off by a minute at most (libs/timeout/src/backoff.ts). */
const LONGER_THAN_BACKOFF = "interval '5 minutes'";

/** Timeouts that stopped themselves (libs/timeout/src/brake.ts), as operators see and release them. */
@Injectable()
export class TimeoutBrake {
  constructor(@Inject(DATABASE) private readonly dataSource: DataSource) {}

  /** Null while timeouts run. */
  async read(): Promise<BrakeView | null> {
    const [row] = await queryRows<BrakeView>(
      this.dataSource,
      `SELECT id, cause, kind, due, waiting, engaged_at AS "engagedAt"
         FROM timeout_brakes WHERE released_at IS NULL`,
    );
    return row ?? null;
  }

  /**
   * Lets timeouts go on; every worker hears of it with its next sweep. What is due is handled then.
   * Attempts that were put off by a clock that ran ahead come back at once.
   * @throws {LastcallError} timeouts_not_stopped
   */
  async release({ actor, reason, dryRun = false }: ActionRun): Promise<BrakeView> {
    return rehearse<BrakeView>(dryRun, (end) =>
      inTransaction(this.dataSource, async (tx) => {
        const [row] = await tx.rows<BrakeView>(
          `UPDATE timeout_brakes SET released_at = now(), released_by = $1, release_reason = $2
          WHERE released_at IS NULL
         RETURNING id, cause, kind, due, waiting, engaged_at AS "engagedAt"`,
          [actor, reason],
        );
        if (!row) throw notStopped();
        await tx.rows(
          `WITH put_off AS (
           DELETE FROM deadlines WHERE kind = ANY ($1) AND due_at > now() + ${LONGER_THAN_BACKOFF}
           RETURNING kind, subject_id, version, failures
         )
         INSERT INTO deadlines (kind, due_at, subject_id, version, failures)
         SELECT kind, now(), subject_id, version, failures FROM put_off ON CONFLICT DO NOTHING`,
          [ASKING_KINDS],
        );
        await recordAction(tx, 'timeouts.resume', 'brake', [row.id], { actor, reason });
        return end(row);
      }),
    );
  }
}

/**
 * The brake of a shop that has deadlines or close targets alone, as {@link TimeoutBrake} has it: who lets
 * them go on is kept with it, as there is no audit trail of ours.
 */
export async function openBrakeOfDeadlines({
  DATABASE_URL: url,
  DATABASE_SCHEMA: schema,
}: Pick<Config, 'DATABASE_URL' | 'DATABASE_SCHEMA'>): Promise<
  Pick<TimeoutBrake, 'read' | 'release'> & { close(): Promise<void> }
> {
  const place = await findPlace({ url }, schema);
  const dataSource = await place.open({ name: 'lastcall brake', connections: 1 });
  return {
    read: async () => (await readStopped(dataSource)) ?? null,
    release: async (by) => {
      const released = await releaseBrake(dataSource, by);
      if (!released) throw notStopped();
      return released;
    },
    close: () => dataSource.destroy(),
  };
}

const notStopped = (): LastcallError =>
  new LastcallError('timeouts_not_stopped', 'Timeouts are running: nothing to resume');
