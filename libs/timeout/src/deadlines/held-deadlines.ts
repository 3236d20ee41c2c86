import type { Deadline, DueDeadline } from './deadline-handler';
import { KINDS_OF_ORDERS } from './kinds-of-orders';
import { canBeArmed } from './sound-deadline';
import type { Transaction } from '../database/transaction';

/** Why a deadline is held, and since when. */
export interface Holding {
  /** How often its handler has failed with it. */
  readonly failures: number;
  /** What it failed with in the end. */
  readonly error: string;
  readonly heldAt: Date;
}

/** A deadline whose handler failed too often: it is left alone until somebody releases it, or arms it again. */
export interface HeldDeadline extends Holding {
  readonly kind: string;
  readonly subjectId: string;
  readonly dueAt: Date;
}

/** Takes claimed deadlines that keep failing out of the way until an operator releases them. */
export async function holdDeadlines(
  tx: Transaction,
  held: readonly { readonly due: DueDeadline; readonly error: string }[],
): Promise<void> {
  if (held.length === 0) return;
  await tx.rows(
    `INSERT INTO held_deadlines (kind, subject_id, due_at, version, failures, error)
     SELECT DISTINCT ON (kind, subject_id) *
       FROM unnest($1::text[], $2::uuid[], $3::timestamptz[], $4::int[], $5::smallint[], $6::text[])
         AS h (kind, subject_id, due_at, version, failures, error)
      ORDER BY kind, subject_id, due_at DESC
     ON CONFLICT (kind, subject_id) DO UPDATE
       SET due_at = excluded.due_at, version = excluded.version, failures = excluded.failures,
           error = excluded.error, held_at = now()`,
    [
      held.map(({ due }) => due.kind),
      held.map(({ due }) => due.subjectId),
      held.map(({ due }) => due.dueAt),
      held.map(({ due }) => due.version),
      held.map(({ due }) => due.failures + 1),
      held.map(({ error }) => error),
    ],
  );
}

/**
 * As SQL, what is held, as `h`. A host's subject gets a fresh id each time it is armed: what is held by an id
 * that none has is held no more. Those of orders have the order's id.
 */
export const STILL_HELD = `held_deadlines h LEFT JOIN timeout_subjects s ON s.id = h.subject_id
  WHERE (s.id IS NOT NULL OR h.kind IN (${KINDS_OF_ORDERS.map((kind) => `'${kind}'`).join(', ')}))`;
/** By the host's own name, where it has one. */
const NAME = 'coalesce(s.subject, h.subject_id::text)';

/** Held deadlines, longest held first, by the names that hosts have for their subjects; and how many there are. */
export async function listHeld(
  sql: Pick<Transaction, 'rows'>,
  {
    kind,
    butOf = [],
    limit,
  }: {
    readonly kind?: string | undefined;
    readonly butOf?: readonly string[];
    readonly limit: number;
  },
): Promise<{ readonly count: number; readonly items: readonly HeldDeadline[] }> {
  const rows = await sql.rows<HeldDeadline & { readonly count: number }>(
    `SELECT h.kind, ${NAME} AS "subjectId", h.due_at AS "dueAt", h.failures, h.error,
            h.held_at AS "heldAt", count(*) OVER ()::int AS count
       FROM ${STILL_HELD} AND ($1::text IS NULL OR h.kind = $1) AND h.kind <> ALL ($3::text[])
      ORDER BY h.held_at, h.kind, h.subject_id LIMIT $2`,
    [kind ?? null, limit, butOf],
  );
  return { count: rows[0]?.count ?? 0, items: rows.map(({ count: _, ...one }) => one) };
}

/** Which of these subjects are held, by the ids that they are armed by. */
export async function readHoldings(
  sql: Pick<Transaction, 'rows'>,
  kind: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Holding>> {
  const rows = await sql.rows<Holding & { readonly id: string }>(
    `SELECT subject_id AS id, failures, error, held_at AS "heldAt" FROM held_deadlines
      WHERE kind = $1 AND subject_id = ANY ($2::uuid[])`,
    [kind, ids],
  );
  return new Map(rows.map(({ id, ...holding }) => [id, holding]));
}

/** What hosts call these, by the ids that they are armed by; one that has been armed again has another. */
export async function nameSubjects(
  sql: Pick<Transaction, 'rows'>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await sql.rows<{ readonly id: string; readonly subject: string }>(
    'SELECT id, subject FROM timeout_subjects WHERE id = ANY ($1::uuid[])',
    [ids],
  );
  return new Map(rows.map(({ id, subject }) => [id, subject]));
}

/** Of one kind or of all; of these subjects, by name, or of all. */
export interface WhichHeld {
  readonly kind?: string | undefined;
  readonly subjects?:
    readonly { readonly kind?: string | undefined; readonly subjectId: string }[] | undefined;
}

/** `subjectId` is the id that it is armed by, `name` what a host calls it. */
export type ReleasedDeadline = Deadline & { readonly name: string };

/** Makes held deadlines due again, now and with a clean record. The caller arms their alarms. */
export function releaseHeld(
  sql: Pick<Transaction, 'rows'>,
  { kind, subjects }: WhichHeld,
): Promise<ReleasedDeadline[]> {
  const given = subjects?.filter((one) => canBeArmed({ ...one, kind: one.kind ?? '' }));
  return sql.rows<ReleasedDeadline>(
    `WITH which AS (
       SELECT h.kind, h.subject_id, ${NAME} AS name FROM ${STILL_HELD}
          AND ($1::text IS NULL OR h.kind = $1)
          AND ($2::text IS NULL OR EXISTS (
            SELECT FROM jsonb_to_recordset($2::text::jsonb) AS g (kind text, "subjectId" text)
             WHERE (g.kind IS NULL OR g.kind = h.kind)
               AND (g."subjectId" = ${NAME} OR lower(g."subjectId") = h.subject_id::text)))
     ), released AS (
       DELETE FROM held_deadlines h USING which w WHERE h.kind = w.kind AND h.subject_id = w.subject_id
       RETURNING h.kind, h.subject_id, h.version, w.name
     ), due AS (
       INSERT INTO deadlines (kind, due_at, subject_id, version)
       SELECT kind, now(), subject_id, version + 1 FROM released ON CONFLICT DO NOTHING
       RETURNING kind, due_at, subject_id, version)
     SELECT d.kind, d.subject_id AS "subjectId", d.due_at AS "dueAt", d.version, r.name
       FROM due d JOIN released r ON r.kind = d.kind AND r.subject_id = d.subject_id`,
    [kind ?? null, given ? JSON.stringify(given) : null],
  );
}

/** Takes out of the table what is held no more, as its subject has been armed again or taken back. */
export async function forgetHeld(
  sql: Pick<Transaction, 'rows'>,
  kinds: readonly string[],
): Promise<void> {
  await sql.rows(
    `DELETE FROM held_deadlines h WHERE kind = ANY ($1)
        AND NOT EXISTS (SELECT FROM timeout_subjects s WHERE s.id = h.subject_id)`,
    [kinds],
  );
}
