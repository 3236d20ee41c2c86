import { findPlace, inTransaction, readStopped, releaseBrake } from '@app/timeout';
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
    return (await readStopped(this.dataSource)) ?? null;
  }

  /**
   * Lets timeouts go on; every worker hears of it with its next sweep. What is due is handled then.
   * Attempts that were put off by a clock that ran ahead come back at once. `seen`: what was looked at, null
   * for nothing; one that is on since then, for another cause, stays on.
   * @throws {LastcallError} timeouts_not_stopped
   */
  async release(
    { actor, reason, dryRun = false }: ActionRun,
    seen?: Pick<BrakeView, 'id'> | null,
  ): Promise<BrakeView> {
    return rehearse<BrakeView>(dryRun, (end) =>
      inTransaction(this.dataSource, async (tx) => {
        const [row] = await tx.rows<BrakeView>(
          `UPDATE timeout_brakes SET released_at = now(), released_by = $1, release_reason = $2
          WHERE released_at IS NULL AND ($3::text IS NULL OR id::text = $3)
         RETURNING id, cause, kind, due, waiting, engaged_at AS "engagedAt"`,
          [actor, reason, seen === undefined ? null : (seen?.id ?? '')],
        );
        if (!row) {
          throw notReleased(await tx.rows('SELECT FROM timeout_brakes WHERE released_at IS NULL'));
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
    release: async (by, seen) => {
      const released = await releaseBrake(dataSource, by, seen);
      if (released) return released;
      const other = await readStopped(dataSource);
      throw notReleased(other ? [other] : []);
    },
    close: () => dataSource.destroy(),
  };
}

const notReleased = (others: readonly unknown[]): LastcallError =>
  new LastcallError(
    'timeouts_not_stopped',
    others.length > 0
      ? 'Timeouts have stopped again, for another cause: look at it first'
      : 'Timeouts are running: nothing to resume',
  );
