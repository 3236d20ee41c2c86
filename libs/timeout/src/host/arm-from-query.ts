import { Client } from 'pg';
import { sqlStateOf } from '../database/database-errors';
import { lifting } from '../database/lift-limits';
import { OWN_TYPES } from '../database/own-types';
import { keepToRate } from '../alarms/keep-to-rate';
import { UNDERSTOOD } from '../database/session-settings';
import {
  ArmFromQueryError,
  type ArmFromQueryOptions,
  type ArmFromQueryProgress,
  type ArmFromQueryResult,
} from './arm-from-query-options';
import { searchPathOf } from './connections';
import {
  assertNotOfOrders,
  KINDS_OF_ORDERS,
  ReservedKindError,
} from '../deadlines/kinds-of-orders';
import { MOST_BYTES } from '../deadlines/sound-deadline';
import { Subjects } from './subjects';

interface Row {
  readonly kind: string;
  readonly subject: string;
  readonly due: Date;
  readonly overdue: boolean;
}

interface Summary {
  readonly total: string;
  readonly incomplete: string;
  readonly unsound: string;
  readonly example: string | null;
  readonly twice: string | null;
  readonly of_orders: readonly string[] | null;
  readonly kinds: readonly string[] | null;
}

const STATEMENT_LIMIT_MS = 300_000;

/**
 * Arms what waits in a shop's tables already, as a query of the shop's own tells it: in one snapshot, in
 * the order of kind and subject, a page at a time. What is armed already stays as it is, so that it
 * is safe to repeat, and beside a shop that arms its new orders. The next sweep sees what is due.
 * @throws {ArmFromQueryError} for a query that fails, gives other columns, a subject twice, or NULL
 */
export async function armFromQuery(options: ArmFromQueryOptions): Promise<ArmFromQueryResult> {
  const { url, schema = 'lastcall', dryRun = false, signal } = options;
  const after = placeOf(options.resume);
  const path = await searchPathOf({ url });
  const way = { connectionString: url, types: OWN_TYPES };
  const [reader, writer] = [new Client(way), new Client(way)];
  // A connection that breaks fails the statement that is under way, which tells.
  for (const one of [reader, writer]) one.on('error', () => undefined);
  try {
    await Promise.all([reader.connect(), writer.connect()]);
    await writer.query(lifting('idle_session_timeout'));
    await open(reader, path, options.query);
    const rows = GIVEN(options.query);
    const { total, kinds, ofOrders } = await examine(reader, rows, after);
    await assertFree(writer, schema, ofOrders);
    const newKinds = await notArmed(writer, schema, kinds);
    const subjects = new Subjects(schema);
    const declare = `DECLARE waiting NO SCROLL CURSOR FOR
      SELECT kind, subject, due, due <= now() AS overdue FROM (${rows} WHERE (kind, subject) > ($1, $2)) AS given ORDER BY kind, subject`;
    await reader.query(declare, [after.kind, after.subject]);
    let progress: ArmFromQueryProgress = {
      ...{ total, done: 0, armed: 0, already: 0, overdue: 0, cursor: undefined },
    };
    const pace = { startedMs: performance.now(), ratePerSecond: options.ratePerSecond, signal };
    for (;;) {
      if (signal?.aborted && progress.done < total)
        return { ...progress, newKinds, interrupted: true };
      const { rows: page } = await reader.query<Row>(`FETCH ${options.batch} FROM waiting`);
      const last = page.at(-1);
      if (!last) return { ...progress, newKinds, interrupted: false };
      const armed = await subjects.armMissing(
        { query: async (sql, params) => (await writer.query(sql, [...params])).rows as unknown[] },
        page.map(({ kind, subject, due }) => ({ kind, subjectId: subject, dueAt: due })),
        dryRun,
      );
      progress = {
        total,
        done: progress.done + page.length,
        armed: progress.armed + armed,
        already: progress.already + page.length - armed,
        overdue: progress.overdue + page.filter(({ overdue }) => overdue).length,
        cursor: JSON.stringify([last.kind, last.subject]),
      };
      options.onProgress?.(progress);
      // Behind the last page there is nothing to wait for.
      if (progress.done < total) await keepToRate(progress.done, pace);
    }
  } finally {
    await Promise.all([reader.end(), writer.end()].map((end) => end.catch(() => undefined)));
  }
}

/** Text compared by its bytes: in the same order here and in every database. */
const GIVEN = (query: string): string => `
  SELECT * FROM (
    SELECT kind::text COLLATE "C" AS kind, subject::text COLLATE "C" AS subject, due::timestamptz AS due
      FROM (${query.trim().replace(/;\s*$/, '')}
      ) AS asked (kind, subject, due)) AS given`;

async function open(reader: Client, path: string, query: string): Promise<void> {
  if (!/^\s*(select|with)\b/i.test(query)) {
    throw new ArmFromQueryError('The query has to begin with SELECT or WITH');
  }
  // It lasts as long as what is armed by it.
  await reader.query(lifting('transaction_timeout'));
  // One snapshot, and no way to change anything in it.
  await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  await reader.query(`SELECT set_config('search_path', $1, true)`, [path]);
  await reader.query(`SET LOCAL statement_timeout = ${STATEMENT_LIMIT_MS}`);
  // As node-postgres reads instants; what the query itself writes in days and months keeps its order.
  await reader.query(`SET LOCAL DateStyle = ${UNDERSTOOD.DateStyle}`);
  // It stands still while a page is armed, and while the rate asks for a rest.
  await reader.query('SET LOCAL idle_in_transaction_session_timeout = 0');
}

interface Examined {
  readonly total: number;
  readonly kinds: readonly string[];
  /** Of these, those that the order module has as well. */
  readonly ofOrders: readonly string[];
}

const MAY_NOT = '42501';
const IS_INCOMPLETE = `(kind IS NULL OR subject IS NULL OR due IS NULL OR kind = '' OR subject = '')`;
/** What `Timeouts.arm` refuses as well. */
const IS_UNSOUND = `(octet_length(kind) > ${MOST_BYTES.kind} OR octet_length(subject) > ${MOST_BYTES.subjectId}
  OR due < '0001-01-01Z' OR due >= '10000-01-01Z')`;

async function examine(
  reader: Client,
  rows: string,
  after: { readonly kind: string; readonly subject: string },
): Promise<Examined> {
  const examined = await reader
    .query<Summary>(
      `WITH given AS MATERIALIZED (
         ${rows} WHERE kind IS NULL OR subject IS NULL OR (kind, subject) > ($1, $2))
       SELECT count(*) AS total,
              count(*) FILTER (WHERE ${IS_INCOMPLETE}) AS incomplete,
              count(*) FILTER (WHERE ${IS_UNSOUND}) AS unsound,
              (SELECT json_build_array(left(kind, 100), left(subject, 100), due)::text FROM given
                WHERE ${IS_INCOMPLETE} OR ${IS_UNSOUND} ORDER BY ${IS_INCOMPLETE} DESC LIMIT 1)
                AS example,
              (SELECT json_build_array(kind, subject)::text FROM given
                GROUP BY kind, subject HAVING count(*) > 1
                ORDER BY kind, subject LIMIT 1) AS twice,
              (SELECT json_agg(DISTINCT kind) FROM given WHERE kind = ANY ($3::text[])) AS of_orders,
              (SELECT json_agg(kind) FROM (SELECT DISTINCT kind FROM given ORDER BY kind LIMIT 20) AS k)
                AS kinds
         FROM given`,
      [after.kind, after.subject, KINDS_OF_ORDERS],
    )
    .catch((error: Error) => {
      const hint =
        sqlStateOf(error) === MAY_NOT
          ? 'the user of the database address has to be able to read it: GRANT SELECT ON it TO that user'
          : 'it has to give three columns, in this order: kind, subject, due';
      throw new ArmFromQueryError(`The query fails: ${error.message} (${hint})`, { cause: error });
    });
  const {
    total,
    incomplete,
    unsound,
    example,
    twice,
    kinds,
    of_orders: ofOrders,
  } = examined.rows[0] as Summary;
  if (Number(incomplete) > 0) {
    const message = `${incomplete} rows of the query lack kind, subject or due, as ${example}`;
    throw new ArmFromQueryError(`${message}; nothing was armed`);
  }
  if (Number(unsound) > 0) {
    const { kind, subjectId } = MOST_BYTES;
    const may = `a kind has ${kind} bytes at most, a subject ${subjectId}, and due is in the years 1 to 9999`;
    const message = `${unsound} rows of the query cannot be armed, as ${example}: ${may}`;
    throw new ArmFromQueryError(`${message}; nothing was armed`);
  }
  if (twice !== null) {
    throw new ArmFromQueryError(`The query gives ${twice} twice; nothing was armed`);
  }
  return { total: Number(total), kinds: kinds ?? [], ofOrders: ofOrders ?? [] };
}

async function assertFree(writer: Client, schema: string, kinds: readonly string[]): Promise<void> {
  const query = async (sql: string, params: readonly unknown[]) =>
    (await writer.query<Record<string, unknown>>(sql, [...params])).rows;
  try {
    await assertNotOfOrders(kinds, schema, query);
  } catch (error) {
    if (error instanceof ReservedKindError) throw new ArmFromQueryError(error.message);
    throw error;
  }
}

async function notArmed(
  writer: Client,
  schema: string,
  kinds: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await writer.query<{ kind: string }>(
    `SELECT kind FROM unnest($1::text[]) AS given (kind)
      WHERE NOT EXISTS (SELECT FROM "${schema}".timeout_subjects s WHERE s.kind = given.kind)`,
    [kinds],
  );
  return rows.map(({ kind }) => kind);
}

function placeOf(cursor: string | undefined): { readonly kind: string; readonly subject: string } {
  if (cursor === undefined) return { kind: '', subject: '' };
  const place = readJson(cursor);
  if (Array.isArray(place) && place.length === 2 && place.every((one) => typeof one === 'string')) {
    const [kind, subject] = place as [string, string];
    return { kind, subject };
  }
  throw new ArmFromQueryError(
    `${cursor} is no cursor of a query's backfill: it looks like ["kind","subject"]`,
  );
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
