/** Each comment ends at its first end: with one way to read them there is nothing to try again. */
const COMMENTS = String.raw`(?:\s|--[^\n]*(?:\n|$)|/\*(?:[^*]|\*(?!/))*\*/)*`;
const TO_SAVEPOINT = String.raw`(?!\s+(?:(?:WORK|TRANSACTION)\s+)?TO\b)`;
/** What ends a transaction, by its first words. */
const ENDS = new RegExp(
  String.raw`^${COMMENTS}(?:COMMIT|END|ABORT|PREPARE\s+TRANSACTION|ROLLBACK${TO_SAVEPOINT})\b`,
  'i',
);

/** Somebody who was lent a transaction would end it himself. Nothing was sent. */
export class TransactionIsLentError extends Error {
  readonly code = 'transaction_is_lent';

  constructor(statement: string) {
    super(
      `${statement.trim().slice(0, 40)} is not yours to say: this transaction is committed once you have answered, ` +
        'and undone where you throw',
    );
  }
}

/** True for a statement that would end the transaction that it is made in. */
export const endsTransaction = (sql: string): boolean => ENDS.test(sql);
