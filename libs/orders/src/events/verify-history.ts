import type { Queryable } from '../order/order-rows';
import {
  CONTENT,
  digestOf,
  HISTORIES,
  type History,
  isSignedWith,
  type Seal,
  SEAL_COLUMNS,
  type Sealed,
} from './seal';

/** Where the history, or the chain over it, is not what was sealed. */
export interface Break {
  readonly history: History;
  readonly seal: number;
  readonly what: 'rows' | 'link' | 'signature';
  readonly detail: string;
}

export interface HistoryReport {
  readonly seals: number;
  /** Rows that were read again, of those that are sealed. */
  readonly rows: number;
  readonly sealedRows: number;
  readonly newestAt: Date | null;
  readonly isSigned: boolean;
  readonly breaks: readonly Break[];
}

/** One seal has about a thousand, but for what has one number (event-window.ts). */
const MANY_ROWS = 10_000;
type Patiently = <Result>(read: (sql: Queryable) => Promise<Result>) => Promise<Result>;

/**
 * Computes the seals of the history anew: every link of each chain, and the rows of the newest seals of each
 * table until `newest` of its rows are read. One statement a seal; changes nothing.
 * @param patiently how a seal of very many rows is read, as a statement may take long
 */
export async function verifyHistory(
  sql: Queryable,
  key: string | null,
  newest: number | 'all',
  patiently: Patiently = (read) => read(sql),
): Promise<HistoryReport> {
  const breaks: Break[] = [];
  let [seals, rows, sealedRows, isSigned] = [0, 0, 0, true];
  let newestAt: Date | null = null;
  for (const history of HISTORIES) {
    const chain = await sql.rows<Seal>(
      `SELECT ${SEAL_COLUMNS} FROM history_seals WHERE history = $1 ORDER BY history_seals.number`,
      [history],
    );
    breaks.push(...brokenLinks(chain), ...unsigned(chain.at(-1), key));
    const last = chain.at(-1);
    isSigned &&= last === undefined || last.signature !== null;
    if (last && (newestAt === null || last.sealedAt > newestAt)) newestAt = last.sealedAt;
    seals += chain.length;
    sealedRows += chain.reduce((sum, seal) => sum + seal.rows, 0);
    let read = 0;
    for (const seal of chain.reverse()) {
      if (newest !== 'all' && read >= newest) break;
      read += seal.rows;
      const changed = (by: Queryable): Promise<Break[]> => changedRows(by, seal);
      breaks.push(...(await (seal.rows > MANY_ROWS ? patiently(changed) : changed(sql))));
    }
    rows += read;
  }
  return { seals, rows, sealedRows, newestAt, isSigned, breaks };
}

function brokenLinks(chain: readonly Seal[]): Break[] {
  return chain.flatMap((seal, i) => {
    const { history, number } = seal;
    const before = chain[i - 1];
    const broken = (detail: string): Break[] => [{ history, seal: number, what: 'link', detail }];
    if (number !== (before?.number ?? 0) + 1) {
      return broken(`seals ${(before?.number ?? 0) + 1} to ${number - 1} are gone`);
    }
    if (seal.previous !== (before?.digest ?? '') || seal.fromTx !== (before?.untilTx ?? '0')) {
      return broken('it does not follow the seal before it');
    }
    return digestOf(seal) === seal.digest ? [] : broken('the seal itself was changed');
  });
}

/** The newest vouches for those before it: they are in its digest. */
function unsigned(last: Seal | undefined, key: string | null): Break[] {
  if (!last || key === null || isSignedWith(key, last)) return [];
  const { history, number: seal } = last;
  const detail = 'not signed with HISTORY_SEAL_KEY: made by somebody who does not have it';
  return [{ history, seal, what: 'signature', detail }];
}

async function changedRows(sql: Queryable, seal: Seal): Promise<Break[]> {
  const { history, number, fromTx, untilTx } = seal;
  const [now] = await sql.rows<Sealed>(CONTENT(history), [fromTx, untilTx]);
  if (now?.content === seal.content && now.rows === seal.rows) return [];
  const span = [seal.firstAt, seal.lastAt].map((at) => at?.toISOString() ?? '?').join(' to ');
  const count =
    now?.rows === seal.rows
      ? `${seal.rows} rows as sealed, not the same`
      : `${seal.rows} rows were sealed, ${now?.rows ?? 0} are there`;
  const detail = `${count}; written ${span}, tx >= ${fromTx} and < ${untilTx}`;
  return [{ history, seal: number, what: 'rows', detail }];
}
