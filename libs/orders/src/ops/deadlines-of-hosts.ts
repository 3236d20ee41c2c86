import { findPlace, inTransaction, isFar, releaseHeld, type Transaction } from '@app/timeout';
import type { DataSource } from 'typeorm';
import type { Config } from '../config';
import {
  type DeadlineFindings,
  type DeadlinesReport,
  heldFindings,
  lookEverywhere,
  SAMPLE,
} from './verify-deadlines';

/** A subject's row comes and goes with its deadline: one without is waited for by nobody. */
const MISSING = `
  SELECT s.* FROM timeout_subjects s
   WHERE NOT EXISTS (SELECT FROM deadlines d WHERE d.kind = s.kind AND d.subject_id = s.id)
     AND NOT EXISTS (SELECT FROM held_deadlines h WHERE h.kind = s.kind AND h.subject_id = s.id)`;

/**
 * Deadlines of a shop that has those, or close targets, alone: as VerifyDeadlines and ReleaseDeadlines have
 * those of orders, by the host's own subjects. Who mends them and why is kept nowhere, as there is no audit trail of ours.
 */
export class DeadlinesOfHosts {
  private constructor(private readonly dataSource: DataSource) {}

  static async open({
    DATABASE_URL: url,
    DATABASE_SCHEMA: schema,
  }: Pick<Config, 'DATABASE_URL' | 'DATABASE_SCHEMA'>): Promise<DeadlinesOfHosts> {
    const place = await findPlace({ url }, schema);
    return new DeadlinesOfHosts(await place.open({ name: 'lastcall deadlines', connections: 1 }));
  }

  /**
   * What is missing or held. What is left of a deadline that was armed again rings once, for nothing, and is
   * no finding. With `fix` inserts what is missing.
   */
  verify({ fix = false }: { readonly fix?: boolean } = {}): Promise<DeadlinesReport> {
    return inTransaction(this.dataSource, async (tx) => {
      await lookEverywhere(tx);
      const [all] = await tx.rows<{ n: number }>('SELECT count(*)::int AS n FROM deadlines');
      const missing = await missingFindings(tx);
      return {
        deadlines: all?.n ?? 0,
        missing,
        orphaned: NONE,
        wrong: NONE,
        held: await heldFindings(tx),
        fixed: { inserted: fix ? await insertMissing(tx) : 0, deleted: 0 },
      };
    });
  }

  /** Answers with the subjects that were held and are due now; a worker finds them within a second. */
  async release(which: {
    readonly kind?: string | undefined;
    readonly subjectIds?: readonly string[] | undefined;
  }): Promise<{ kind: string; subjectId: string }[]> {
    const subjects = which.subjectIds?.map((subjectId) => ({ subjectId }));
    const released = await inTransaction(this.dataSource, (tx) =>
      releaseHeld(tx, { kind: which.kind, subjects }),
    );
    return released.map(({ kind, name }) => ({ kind, subjectId: name }));
  }

  close(): Promise<void> {
    return this.dataSource.destroy();
  }
}

const NONE: DeadlineFindings = { count: 0, sample: [] };

async function missingFindings(tx: Transaction): Promise<DeadlineFindings> {
  const rows = await tx.rows<DeadlineFindings['sample'][number] & { readonly n: number }>(
    `SELECT kind, subject AS "subjectId", due_at AS "dueAt", count(*) OVER ()::int AS n
       FROM (${MISSING}) AS missing ORDER BY due_at, subject LIMIT ${SAMPLE}`,
  );
  return { count: rows[0]?.n ?? 0, sample: rows.map(({ n: _, ...one }) => one) };
}

async function insertMissing(tx: Transaction): Promise<number> {
  const rows = await tx.rows(
    `INSERT INTO deadlines (kind, due_at, subject_id, version, far)
     SELECT kind, due_at, id, version, ${isFar('due_at')} FROM (${MISSING}) AS missing
     ON CONFLICT DO NOTHING RETURNING 1`,
  );
  return rows.length;
}
