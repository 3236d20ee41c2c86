import { sqlStateOf } from '@app/timeout';
import { LastcallError } from './errors';

/** A character that the database's encoding does not have, as LATIN1 has no Chinese; what is none in it. */
const UNKEPT = new Set(['22P05', '22021']);

/** The refusal of a text that this database cannot keep, of whatever was sent; undefined for another error. */
export function refusalOfUnkeptText(error: unknown): LastcallError | undefined {
  if (!UNKEPT.has(sqlStateOf(error) ?? '')) return undefined;
  const message =
    'A text has a character that the database cannot keep: what was sent has to do without it';
  return new LastcallError('invalid_request', message, {}, { cause: error });
}
