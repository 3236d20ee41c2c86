import { inTransaction, isFar, listHeld, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import {
  DEADLINE_KINDS,
  inList,
  SUBJECT_TABLES,
  TIMED_KINDS,
  WAITING,
} from '../order/deadline-table';
import type { Accountable } from '../order/operator-action';

export interface DeadlineFinding {
  readonly kind: string;
  readonly subjectId: string;
  /** When it is due, or should be. */
  readonly dueAt: Date;
}

export interface DeadlineFindings {
  readonly count: number;
  readonly sample: readonly DeadlineFinding[];
}

export interface DeadlinesReport {
  /** Of the kinds of orders; those of others in the same schema are not looked at. */
  readonly deadlines: number;
  /** An order, refund or webhook that waits for a deadline has none: it would wait for ever. */
  readonly missing: DeadlineFindings;
  /** A deadline of something that does not exist: its handler has nothing to do. */
  readonly orphaned: DeadlineFindings;
  /** The order's deadline is much later than the order says, and nobody has put it off until then. */
  readonly wrong: DeadlineFindings;
  /** Failed too often; an operator releases them. */
  readonly held: DeadlineFindings;
  readonly fixed: { readonly inserted: number; readonly deleted: number };
}

export const SAMPLE = 20;
/** The longest wait before a failed one is tried again is 60 s: a row later than this is wrong. */
const TOO_LATE = "interval '2 minutes'";
/** Every order is looked at; the limit of everyday statements may be too short for that. */
const STATEMENT_LIMIT_MS = 120_000;
/** Whole tables meet, some without statistics: a loop over one of them would never end. */
const NO_LOOPS = 'SET LOCAL enable_nestloop = off';

/** For a transaction that is to look at all there is. */
export async function lookEverywhere(tx: Transaction): Promise<void> {
  await tx.limit(STATEMENT_LIMIT_MS);
  await tx.rows(NO_LOOPS);
}

/** What waits for a deadline and has none, or one much too late. One statement, so one snapshot. */
const UNLIKE = `
  WITH waiting AS (${WAITING}),
  armed AS (
    SELECT kind, subject_id, min(due_at) AS due_at FROM deadlines GROUP BY kind, subject_id
  )
  SELECT CASE WHEN a.subject_id IS NULL THEN 'missing' ELSE 'wrong' END AS finding,
         w.kind, w.subject_id, w.due_at::timestamptz(3) AS due_at, w.version
    FROM waiting w
    LEFT JOIN armed a ON a.kind = w.kind AND a.subject_id = w.subject_id
    LEFT JOIN held_deadlines h ON h.kind = w.kind AND h.subject_id = w.subject_id
   WHERE h.subject_id IS NULL
     AND (a.subject_id IS NULL
          OR (w.kind IN (${inList(TIMED_KINDS)})
              AND a.due_at > w.latest + ${TOO_LATE}))`;

/** Of a kind that we know: those of a host, or of a newer version, have subjects of their own. */
const IS_OURS = `kind IN (${inList(DEADLINE_KINDS)})`;

const ORPHANED = `
  SELECT 'orphaned' AS finding, d.kind, d.subject_id, d.due_at, d.version FROM deadlines d
   WHERE ${[
     IS_OURS,
     ...SUBJECT_TABLES.map(
       (table) => `NOT EXISTS (SELECT FROM ${table} s WHERE s.id = d.subject_id)`,
     ),
   ].join(' AND ')}`;

/** As recordAction writes it, for subjects that may be too many to be brought here. */
const RECORDED = `
  , recorded AS (
    INSERT INTO operator_actions (actor, reason, action, subject_kind, subject_id)
    SELECT $1, $2, $3, 'deadline', subject_id FROM fixed RETURNING 1)
  SELECT count(*)::int AS n FROM recorded`;

interface FoundRow {
  finding: 'missing' | 'wrong' | 'orphaned';
  kind: string;
  subject_id: string;
  due_at: Date;
  n: number;
}

/** Compares the deadlines with what should have one. Counting is the database's, memory is flat. */
@Injectable()
export class VerifyDeadlines {
  constructor(@Inject(DATABASE) private readonly dataSource: DataSource) {}

  /**
   * With `fixFor`: inserts what is missing or late, deletes what is nobody's, and writes down for
   * whom; alarms are not armed.
   */
  run({ fixFor }: { readonly fixFor?: Accountable } = {}): Promise<DeadlinesReport> {
    return inTransaction(this.dataSource, async (tx) => {
      await lookEverywhere(tx);
      const report = await this.#look(tx);
      return fixFor ? { ...report, fixed: await this.#fix(tx, fixFor) } : report;
    });
  }

  async #look(tx: Transaction): Promise<DeadlinesReport> {
    const rows = await tx.rows<FoundRow>(
      `SELECT * FROM (
         SELECT *, count(*) OVER (PARTITION BY finding)::int AS n,
                row_number() OVER (PARTITION BY finding ORDER BY due_at, subject_id) AS nth
           FROM (${UNLIKE} UNION ALL ${ORPHANED}) AS found) AS numbered
        WHERE nth <= ${SAMPLE} ORDER BY nth`,
    );
    const [all] = await tx.rows<{ n: number }>(
      `SELECT count(*)::int AS n FROM deadlines WHERE ${IS_OURS}`,
    );
    return {
      deadlines: all?.n ?? 0,
      missing: findings(rows, 'missing'),
      orphaned: findings(rows, 'orphaned'),
      wrong: findings(rows, 'wrong'),
      held: await heldFindings(tx),
      fixed: { inserted: 0, deleted: 0 },
    };
  }

  async #fix(tx: Transaction, { actor, reason }: Accountable): Promise<DeadlinesReport['fixed']> {
    // A deadline that is too late stays: it fires once, finds its order moved on and is gone.
    const [inserted] = await tx.rows<{ n: number }>(
      `WITH fixed AS (
         INSERT INTO deadlines (kind, due_at, subject_id, version, far)
         SELECT kind, due_at, subject_id, version, ${isFar('due_at')} FROM (${UNLIKE}) AS found
         ON CONFLICT DO NOTHING RETURNING subject_id)
       ${RECORDED}`,
      [actor, reason, 'deadline.insert'],
    );
    const [deleted] = await tx.rows<{ n: number }>(
      `WITH fixed AS (
         DELETE FROM deadlines d USING (${ORPHANED}) AS o
          WHERE d.kind = o.kind AND d.due_at = o.due_at AND d.subject_id = o.subject_id
         RETURNING d.subject_id)
       ${RECORDED}`,
      [actor, reason, 'deadline.delete'],
    );
    return { inserted: inserted?.n ?? 0, deleted: deleted?.n ?? 0 };
  }
}

function findings(rows: readonly FoundRow[], finding: FoundRow['finding']): DeadlineFindings {
  const found = rows.filter((row) => row.finding === finding);
  return {
    count: found[0]?.n ?? 0,
    sample: found.map((row) => ({
      kind: row.kind,
      subjectId: row.subject_id,
      dueAt: row.due_at,
    })),
  };
}

/** Of hosts, too. */
export async function heldFindings(tx: Transaction): Promise<DeadlineFindings> {
  const { count, items } = await listHeld(tx, { limit: SAMPLE });
  const sample = items.map(({ kind, subjectId, dueAt }) => ({ kind, subjectId, dueAt }));
  return { count, sample };
}
