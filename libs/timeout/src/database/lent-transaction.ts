import { isOfSeveralStatements } from './database-errors';

/** Before a word; also an empty statement, which Postgres passes over. */
const BLANKS = /(?:[\s;]+|--[^\n\r]*)*/y;
const WORD = /\w*/y;
const COMMENT_ENDS = /\/\*|\*\//g;

/** So many tell of a statement whether it ends its transaction. */
const TELLING = 3;
const ENDING = new Set(['COMMIT', 'END', 'ABORT']);
const MAY_FOLLOW = new Set(['WORK', 'TRANSACTION']);

/** True for a statement that would end the transaction that it is made in. */
export function endsTransaction(sql: string): boolean {
  const [first = '', ...others] = firstWords(sql);
  if (first === 'PREPARE') return others[0] === 'TRANSACTION';
  if (first !== 'ROLLBACK') return ENDING.has(first);
  const [next] = others.filter((word) => !MAY_FOLLOW.has(word));
  return next !== 'TO';
}

function firstWords(sql: string): string[] {
  const words: string[] = [];
  for (let from = 0; words.length < TELLING;) {
    const at = behindComments(sql, from);
    from = behind(WORD, sql, at);
    if (from === at) break;
    words.push(sql.slice(at, from).toUpperCase());
  }
  return words;
}

/** Those of Postgres may have others in them. */
function behindComments(sql: string, from: number): number {
  let at = behind(BLANKS, sql, from);
  while (sql.startsWith('/*', at)) {
    COMMENT_ENDS.lastIndex = at;
    let depth = 0;
    do {
      const [end] = COMMENT_ENDS.exec(sql) ?? [];
      if (end === undefined) return sql.length;
      depth += end === '/*' ? 1 : -1;
    } while (depth > 0);
    at = behind(BLANKS, sql, COMMENT_ENDS.lastIndex);
  }
  return at;
}

function behind(what: RegExp, sql: string, from: number): number {
  what.lastIndex = from;
  what.test(sql);
  return what.lastIndex;
}

const ENDING_WORDS = /\b(?:COMMIT|END|ABORT|ROLLBACK|PREPARE)\b/i;

/** By one statement behind another; also by a name or a string, which Postgres alone can tell from it. */
function mayEnd(sql: string): boolean {
  const behind = sql.indexOf(';');
  return behind >= 0 && ENDING_WORDS.test(sql.slice(behind));
}

const HOW_IT_ENDS =
  'this transaction is committed once you have answered, and undone where you throw';

/** Somebody who was lent a transaction would end it himself. Nothing of it was done. */
export class TransactionIsLentError extends Error {
  readonly code = 'transaction_is_lent';

  constructor(statement: string) {
    const said = statement.trim().slice(0, 40);
    super(
      endsTransaction(statement)
        ? `${said} is not yours to say: ${HOW_IT_ENDS}`
        : `${said} has several statements, of which one may end the transaction: send each by itself, and none ` +
            `that ends it, as ${HOW_IT_ENDS}`,
    );
  }
}

/** How a text has to be sent that may end its transaction by one of several statements: as one, or not at all. */
export const asOneStatement = (sql: string): { readonly queryMode?: 'extended' } =>
  mayEnd(sql) ? { queryMode: 'extended' } : {};

/** Why a text has failed that was sent {@link asOneStatement}. */
export const whyNotAsOne = (error: unknown, sql: string): unknown =>
  isOfSeveralStatements(error) && mayEnd(sql) ? new TransactionIsLentError(sql) : error;
