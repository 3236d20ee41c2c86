import { inTransaction, queryRows } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
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
        if (!row) {
          throw new LastcallError(
            'timeouts_not_stopped',
            'Timeouts are running: nothing to resume',
          );
        }
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
