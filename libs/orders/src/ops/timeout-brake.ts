import { findPlace, readStopped, releaseBrakes } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Config } from '../config';
import { DATABASE } from '../data-source';
import { ASKING_KINDS, BRAKED_KINDS } from '../order/deadline-table';
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

/** What is to go on; all that has stopped those of orders unless given. */
export interface WhatToResume {
  /** One of the kinds of a host's brake. */
  readonly kind?: string | undefined;
  /** What was looked at, null for nothing: one that is on since then, for another cause, stays on. */
  readonly seen?: Pick<BrakeView, 'id'> | null | undefined;
}

/** Kinds that ask are put off by a minute at most (libs/timeout/src/backoff.ts). */
const LONGER_THAN_BACKOFF = "interval '5 minutes'";

/**
 * Timeouts that stopped themselves (libs/timeout/src/brake/brake.ts), as operators see and release them: those of orders;
 * of a host beside them where a kind of its brake's is given.
 */
@Injectable()
export class TimeoutBrake {
  constructor(@Inject(DATABASE) private readonly dataSource: DataSource) {}

  /** Null while timeouts run. */
  async read(kind?: string): Promise<BrakeView | null> {
    const kinds = kindsOf(kind);
    return (await this.readAll()).find((one) => kinds.includes(one.kind)) ?? null;
  }

  /** The oldest first, also those of a host beside orders. */
  readAll(): Promise<BrakeView[]> {
    return readStopped(this.dataSource);
  }

  /**
   * Lets timeouts go on; every worker hears of it with its next sweep. What is due is handled then.
   * Attempts that were put off by a clock that ran ahead come back at once.
   * @throws {LastcallError} timeouts_not_stopped
   */
  async release(
    { actor, reason, dryRun = false }: ActionRun,
    { kind, seen }: WhatToResume = {},
  ): Promise<BrakeView> {
    return rehearse(dryRun, this.dataSource, async (tx) => {
      const rows = await tx.rows<BrakeView>(
        `UPDATE timeout_brakes SET released_at = now(), released_by = $1, release_reason = $2
        WHERE released_at IS NULL AND kind = ANY ($3) AND ($4::text IS NULL OR id::text = $4)
       RETURNING id, cause, kind, due, waiting, engaged_at AS "engagedAt"`,
        [actor, reason, kindsOf(kind), seen === undefined ? null : (seen?.id ?? '')],
      );
      const [row] = rows;
      if (!row) {
        const others = 'SELECT FROM timeout_brakes WHERE released_at IS NULL AND kind = ANY ($1)';
        throw notReleased(await tx.rows(others, [kindsOf(kind)]));
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
      const ids = rows.map(({ id }) => id);
      await recordAction(tx, 'timeouts.resume', 'brake', ids, { actor, reason });
      return row;
    });
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
  const stopped = async (kind?: string) =>
    (await readStopped(dataSource)).filter((one) => kind === undefined || one.kind === kind);
  return {
    read: async (kind) => (await stopped(kind))[0] ?? null,
    release: async (by, { kind, seen } = {}) => {
      const looked = seen === undefined ? await stopped(kind) : seen ? [seen] : [];
      const ids = looked.map(({ id }) => id);
      const [released] = await releaseBrakes(dataSource, ids, by);
      if (!released) throw notReleased(await stopped(kind));
      return released;
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

const kindsOf = (kind?: string): readonly string[] => (kind === undefined ? BRAKED_KINDS : [kind]);
