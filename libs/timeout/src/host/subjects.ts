import type { HostDeadline, SubjectRef } from '../deadlines/host-deadline';
import type { HostTransaction } from './host-transaction';

/** An armed deadline; `version` counts how often the subject was armed since it was last due. */
export interface ArmedDeadline extends HostDeadline {
  readonly version: number;
}

/** @internal */
export interface ArmedRow {
  readonly id: string;
  readonly kind: string;
  readonly subject: string;
  readonly due_ms: string;
  readonly version: number;
}

/** Of a subject that has vanished, there is nothing but its names. */
type Answer = Omit<ArmedRow, 'id'> & { readonly id: string | null };
const isArmed = (row: Answer): row is ArmedRow => row.id !== null;

/** A handler that arms its subject for at once may have it again each time. */
const MOST_TRIES = 100;
const keyOf = ({ kind, subject }: Pick<ArmedRow, 'kind' | 'subject'>): string =>
  JSON.stringify([kind, subject]);

const COLUMNS = `id, kind, subject, (extract(epoch FROM due_at) * 1000)::bigint::text AS due_ms, version`;

export const armedFrom = (row: Omit<ArmedRow, 'id'>): ArmedDeadline => ({
  kind: row.kind,
  subjectId: row.subject,
  dueAt: new Date(Number(row.due_ms)),
  version: row.version,
});

/**
 * The statements of one installation, with its schema spelt out: they run in a host's transaction,
 * whose search path leads elsewhere. One JSON text is all that they take: every library can send that.
 */
export class Subjects {
  readonly #arm: string;
  readonly #reschedule: string;
  readonly #cancel: string;
  readonly #armMissing: string;
  readonly #countMissing: string;

  constructor(schema: string) {
    const [subjects, deadlines] = [`"${schema}".timeout_subjects`, `"${schema}".deadlines`];
    const given = `given AS (SELECT * FROM jsonb_to_recordset($1::text::jsonb)
        AS g (kind text, subject text, due_at timestamptz))`;
    // The deadline before, found by its key, row by row: no plan reads what waits for weeks. One that is
    // being claimed, or that somebody arms just now, stays: once it is due it loses.
    const over = `seen AS MATERIALIZED (
        SELECT s.* FROM (SELECT DISTINCT kind, subject FROM given) AS g, LATERAL (
          SELECT kind, subject, id, due_at FROM ${subjects}
           WHERE kind = g.kind AND subject = g.subject OFFSET 0) AS s
      ), over AS MATERIALIZED (
        SELECT d.* FROM seen s, LATERAL (
          SELECT ctid AS place, kind, due_at, subject_id, far FROM ${deadlines}
           WHERE kind = s.kind AND due_at = s.due_at AND subject_id = s.id
             FOR UPDATE SKIP LOCKED) AS d
      ), gone AS (
        DELETE FROM ${deadlines} WHERE ctid = ANY (ARRAY(SELECT place FROM over))
           AND CASE WHEN kind <> '' THEN (kind, due_at, subject_id, far) IN
                 (SELECT kind, due_at, subject_id, far FROM over) END)`;
    const put = `put AS (
        INSERT INTO ${deadlines} (kind, due_at, subject_id, version, failures, far)
        SELECT kind, due_at, id, version, 0, due_at > now() + interval '1 hour' FROM armed)
      SELECT ${COLUMNS} FROM armed`;
    this.#arm = `
      WITH ${given}, ${over}, armed AS (
        INSERT INTO ${subjects} AS s (id, kind, subject, due_at)
        SELECT gen_random_uuid(), kind, subject, due_at FROM given ORDER BY kind, subject
        ON CONFLICT (kind, subject) DO UPDATE
          SET id = excluded.id, due_at = excluded.due_at, version = s.version + 1
        RETURNING *), ${put}`;
    this.#armMissing = `
      WITH ${given}, armed AS (
        INSERT INTO ${subjects} (id, kind, subject, due_at)
        SELECT gen_random_uuid(), kind, subject, due_at FROM given ORDER BY kind, subject
        ON CONFLICT (kind, subject) DO NOTHING RETURNING *), ${put}`;
    this.#countMissing = `
      WITH ${given}
      SELECT 1 FROM given g WHERE NOT EXISTS
        (SELECT FROM ${subjects} s WHERE s.kind = g.kind AND s.subject = g.subject)`;
    // Of those that a handler had, and that have a new row since: this statement has not seen that.
    const vanished = (done: string): string => `
      UNION ALL SELECT NULL, kind, subject, NULL, NULL FROM seen
       WHERE (kind, subject) NOT IN (SELECT kind, subject FROM ${done})`;
    this.#reschedule = `
      WITH ${given}, ${over}, armed AS (
        UPDATE ${subjects} s SET id = gen_random_uuid(), due_at = g.due_at, version = s.version + 1
          FROM given g WHERE s.kind = g.kind AND s.subject = g.subject RETURNING s.*), ${put}
      ${vanished('armed')}`;
    // Locked in the order of `arm`, or the two would wait in a circle. By key, as waiting may change the id;
    // by arrays of one, which no plan hashes or merges: that would read all subjects for each taken back.
    this.#cancel = `
      WITH ${given}, ${over}, locked AS (
        SELECT s.* FROM (SELECT DISTINCT kind, subject FROM given ORDER BY kind, subject) AS g, LATERAL (
          SELECT kind, subject FROM ${subjects}
           WHERE kind = g.kind AND subject = g.subject FOR UPDATE) AS s
      ), taken AS (
        DELETE FROM ${subjects} s USING locked l
         WHERE s.kind = ANY (ARRAY[l.kind]) AND s.subject = ANY (ARRAY[l.subject])
        RETURNING s.*)
      SELECT ${COLUMNS} FROM taken ${vanished('taken')}`;
  }

  async arm(tx: HostTransaction, deadlines: readonly HostDeadline[]): Promise<readonly ArmedRow[]> {
    return (await this.#run(tx, this.#arm, deadlines)).filter(isArmed);
  }

  /** Arms those that have no deadline of their kind yet, or only counts them; answers with their number. */
  async armMissing(
    tx: HostTransaction,
    deadlines: readonly HostDeadline[],
    dryRun: boolean,
  ): Promise<number> {
    const sql = dryRun ? this.#countMissing : this.#armMissing;
    return (await this.#run(tx, sql, deadlines)).length;
  }

  reschedule(tx: HostTransaction, deadline: HostDeadline): Promise<readonly ArmedRow[]> {
    return this.#runOnAll(tx, this.#reschedule, [deadline]);
  }

  async cancel(tx: HostTransaction, subjects: readonly SubjectRef[]): Promise<number> {
    return (await this.#runOnAll(tx, this.#cancel, subjects)).length;
  }

  /**
   * Again for those that it has waited for, and that were gone then: whose handler has armed them anew has
   * written another row, which only the next statement sees.
   */
  async #runOnAll(
    tx: HostTransaction,
    sql: string,
    given: readonly (SubjectRef & { dueAt?: Date })[],
  ): Promise<ArmedRow[]> {
    const done: ArmedRow[] = [];
    let left = given;
    for (let tries = 0; left.length > 0 && tries < MOST_TRIES; tries++) {
      const rows = await this.#run(tx, sql, left);
      done.push(...rows.filter(isArmed));
      const vanished = new Set(rows.filter((row) => !isArmed(row)).map(keyOf));
      left = left.filter(({ kind, subjectId }) =>
        vanished.has(keyOf({ kind, subject: subjectId })),
      );
    }
    return done;
  }

  async #run(
    tx: HostTransaction,
    sql: string,
    given: readonly (SubjectRef & { dueAt?: Date })[],
  ): Promise<readonly Answer[]> {
    const rows = given.map(({ kind, subjectId, dueAt }) => ({
      kind,
      subject: subjectId,
      due_at: dueAt?.toISOString(),
    }));
    if (typeof (tx as Partial<HostTransaction> | undefined)?.query !== 'function')
      throw noTransaction();
    const answer = await tx.query(sql, [JSON.stringify(rows)]);
    if (!isList(answer)) throw noTransaction();
    // TypeORM answers to a DELETE with its rows and their number.
    const [first] = answer;
    return (Array.isArray(first) ? first : answer) as readonly Answer[];
  }
}

/** As it is typed, where a compiler has looked. */
const isList = (answer: unknown): boolean => Array.isArray(answer);

/** What a library has itself is no transaction of ours: the caller's is undone by what we throw. */
const noTransaction = (): TypeError =>
  new TypeError(
    'A transaction is given as fromTypeOrm(manager), fromPg(client), fromKnex(trx), fromDrizzle(tx, sql) or ' +
      'fromPrisma(tx), or is the `tx` of a handler',
  );

/** Of our own connections, which find the table by their path. */
export const READ_SUBJECT = `SELECT ${COLUMNS} FROM timeout_subjects WHERE kind = $1 AND subject = $2`;
export const LIST_SUBJECTS = `
  SELECT ${COLUMNS} FROM timeout_subjects
   WHERE kind = $1 AND (due_at, subject) > ($2::timestamptz, $3)
   ORDER BY kind, due_at, subject LIMIT $4`;

/**
 * Takes the subjects of due deadlines. Those that are not there have been armed anew or taken back;
 * those that somebody is changing at this moment are told of as not taken, and waited for by nobody.
 */
export const TAKE_SUBJECTS = `
  WITH free AS (
    SELECT id FROM timeout_subjects WHERE id = ANY ($1::uuid[]) FOR UPDATE SKIP LOCKED
  ), taken AS (
    DELETE FROM timeout_subjects WHERE id IN (SELECT id FROM free))
  SELECT id, subject, id IN (SELECT id FROM free) AS taken,
         (extract(epoch FROM now()) * 1000)::bigint::text AS now_ms
    FROM timeout_subjects WHERE id = ANY ($1::uuid[])`;
