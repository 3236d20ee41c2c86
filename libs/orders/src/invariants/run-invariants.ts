import { isCanceledStatement } from '@app/timeout';
import type { Queryable } from '../order/order-rows';
import { readOwnFile } from './own-file';

export interface Invariant {
  /** The promise's number, as in invariants.sql. */
  readonly id: number;
  readonly name: string;
  /** The promise in one sentence. */
  readonly promise: string;
  readonly sql: string;
}

export interface InvariantResult extends Pick<Invariant, 'id' | 'name' | 'promise'> {
  /** 0, always; meaningless while `incomplete`. */
  readonly violations: number;
  readonly tookMs: number;
  /** True when the database stopped the query for taking too long: nothing was found out. */
  readonly incomplete?: true;
}

export interface InvariantOptions {
  /** How late is too late: a sweep interval plus the time one drain takes. */
  readonly limitMs: number;
  /** How many of the newest history rows to look behind; `all` reads every order there is. */
  readonly newest?: number | 'all';
  /** Asked before each: once it says yes, the rest are left out. */
  readonly stops?: () => boolean;
}

/** Minutes of a busy shop, or days of a small one; well below a second of reading. */
const NEWEST = 20_000;

/**
 * Runs every invariant, one statement after the other, outside any transaction. The default looks
 * at the orders behind the newest 20,000 history rows, so that it is fast on any number of them.
 */
export async function runInvariants(
  sql: Queryable,
  { limitMs, newest = NEWEST, stops = () => false }: InvariantOptions,
): Promise<InvariantResult[]> {
  const sinceTx = newest === 'all' ? '0' : await sinceTransaction(sql, newest);
  const results: InvariantResult[] = [];
  for (const invariant of INVARIANTS) {
    if (stops()) break;
    results.push(await check(sql, invariant, { limitMs, sinceTx }));
  }
  return results;
}

async function check(
  sql: Queryable,
  { id, name, promise, sql: text }: Invariant,
  values: { readonly limitMs: number; readonly sinceTx: string },
): Promise<InvariantResult> {
  const startedMs = performance.now();
  const result = { id, name, promise };
  const took = (): number => Math.round(performance.now() - startedMs);
  try {
    const [row] = await sql.rows<{ violations: string }>(fill(text, values));
    return { ...result, violations: Number(row?.violations), tookMs: took() };
  } catch (error) {
    if (!isCanceledStatement(error)) throw error;
    return { ...result, violations: 0, tookMs: took(), incomplete: true };
  }
}

/** The transaction of the history row that so many rows are newer than; '0' when there are fewer. */
async function sinceTransaction(sql: Queryable, newest: number): Promise<string> {
  const [row] = await sql.rows<{ tx: string }>(
    'SELECT tx::text AS tx FROM order_events ORDER BY tx DESC OFFSET $1 LIMIT 1',
    [newest],
  );
  return row?.tx ?? '0';
}

/** Both values are numbers of ours; as literals, the planner sees how much is asked for. */
function fill(text: string, { limitMs, sinceTx }: { limitMs: number; sinceTx: string }): string {
  if (!/^\d+$/.test(sinceTx)) throw new TypeError('A transaction id has digits only');
  return text
    .replaceAll(/(?<!:):limit_ms\b/g, String(Math.round(limitMs)))
    .replaceAll(/(?<!:):since_tx\b/g, `'${sinceTx}'`);
}

/** Each begins with a line `-- <id>. <name>: <promise>` and ends before the next. */
function parse(file: string): Invariant[] {
  const heads = [...file.matchAll(/^-- (\d+)\. ([a-z_]+): (.+)$/gm)];
  return heads.map((head, index) => ({
    id: Number(head[1]),
    name: head[2] as string,
    promise: head[3] as string,
    sql: file
      .slice(head.index, heads[index + 1]?.index)
      .trim()
      .replace(/;$/, ''),
  }));
}

/** All of them, in their order. The build copies the SQL file beside this one. */
export const INVARIANTS: readonly Invariant[] = parse(readOwnFile(__dirname, 'invariants.sql'));
