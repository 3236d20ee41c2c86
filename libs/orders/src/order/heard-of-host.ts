import {
  isEverybodys,
  isLockTimeout,
  isOfOwnConnection,
  OthersTroubleError,
  type Transaction,
} from '@app/timeout';
import { LastcallError } from './errors';

/** A hook or the stock of the host's met a lock that somebody keeps, in a transaction that many share. */
export class HeldInHostError extends Error {
  /** Without a `cause`: by its SQLSTATE the whole would be tried again, and wait again. */
  constructor(
    readonly isOfStock: boolean,
    error: unknown,
  ) {
    super(`${nameOf(isOfStock)} waited: ${String(error)}`);
  }
}

export const ofStock = <T>(tx: Transaction, work: () => Promise<T>): Promise<T> =>
  heard(tx, true, work());

const nameOf = (isOfStock: boolean): string =>
  isOfStock ? 'The stock of the host' : 'An @OrderHook() of the host';

/**
 * Tells a lock that somebody keeps from what else may fail, where others wait for this, too; and from our database
 * those that the host has besides.
 */
export async function heard<T>(tx: Transaction, isOfStock: boolean, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (tx.isShared && isLockTimeout(error)) throw new HeldInHostError(isOfStock, error);
    const isOfOthers = isEverybodys(error) && !isOfOwnConnection(error);
    throw isOfOthers ? ofOthers(isOfStock, error) : error;
  }
}

/** What the host refuses by it stays a refusal, and is nobody else's. */
function ofOthers(isOfStock: boolean, error: unknown): Error {
  return error instanceof LastcallError
    ? new LastcallError(error.code, error.message, error.fields)
    : new OthersTroubleError(nameOf(isOfStock), error);
}
