import { isOfSeveralStatements } from './database-errors';

/** Each comment ends at its first end: with one way to read them there is nothing to try again. */
const COMMENTS = String.raw`(?:\s|--[^\n]*(?:\n|$)|/\*(?:[^*]|\*(?!/))*\*/)*`;
const TO_SAVEPOINT = String.raw`(?!\s+(?:(?:WORK|TRANSACTION)\s+)?TO\b)`;
/** What ends a transaction, by its first words. */
const ENDS = new RegExp(
  String.raw`^${COMMENTS}(?:COMMIT|END|ABORT|PREPARE\s+TRANSACTION|ROLLBACK${TO_SAVEPOINT})\b`,
  'i',
);

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
      ENDS.test(statement)
        ? `${said} is not yours to say: ${HOW_IT_ENDS}`
        : `${said} has several statements, of which one may end the transaction: send each by itself, and none ` +
            `that ends it, as ${HOW_IT_ENDS}`,
    );
  }
}

/** True for a statement that would end the transaction that it is made in. */
export const endsTransaction = (sql: string): boolean => ENDS.test(sql);

/** How a text has to be sent that may end its transaction by one of several statements: as one, or not at all. */
export const asOneStatement = (sql: string): { readonly queryMode?: 'extended' } =>
  mayEnd(sql) ? { queryMode: 'extended' } : {};

/** Why a text has failed that was sent {@link asOneStatement}. */
export const whyNotAsOne = (error: unknown, sql: string): unknown =>
  isOfSeveralStatements(error) && mayEnd(sql) ? new TransactionIsLentError(sql) : error;
