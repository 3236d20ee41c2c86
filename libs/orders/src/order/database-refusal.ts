import {
  CommitUnknownError,
  isContention,
  isInfrastructureError,
  StoodStillError,
} from '@app/timeout';
import { LastcallError } from './errors';
import { refusalOfUnkeptText } from './unkept-text';

const UNKNOWN =
  'The database has not answered in time: whether it was done is not known; try again soon, with the same ' +
  'Idempotency-Key where the request has one';

/**
 * What a caller is told of an error of the database's, which is its cause: `unavailable`, `busy` where others were
 * at the same things for as long as that was tried, or the host did not answer, or `invalid_request` for a text that
 * it cannot keep. Undefined for any other error.
 */
export function refusalOfDatabase(error: unknown): LastcallError | undefined {
  const unkept = refusalOfUnkeptText(error);
  if (unkept) return unkept;
  if (isInfrastructureError(error)) {
    const isKnown = !(error instanceof CommitUnknownError);
    const message = isKnown ? 'The database cannot be reached; try again soon' : UNKNOWN;
    return new LastcallError('unavailable', message, {}, { cause: error });
  }
  if (error instanceof StoodStillError) {
    const message = 'The shop took too long to look at this; try again soon';
    return new LastcallError('busy', message, {}, { cause: error });
  }
  // After the retries of `inTransaction`.
  if (!isContention(error)) return undefined;
  const message = 'Others are changing the same things; try again soon';
  return new LastcallError('busy', message, {}, { cause: error });
}

/** Rejects with the refusal of what the database fails with. */
export const orRefusal = <T>(work: Promise<T>): Promise<T> =>
  work.catch((error: unknown) => {
    throw refusalOfDatabase(error) ?? error;
  });
