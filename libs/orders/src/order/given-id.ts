import { type LastcallError, orderNotFound } from './errors';
import { isUuid } from './uuid';

/**
 * An id as Postgres writes it, of what somebody has passed as one.
 * @throws what `notFound` makes, for an id that cannot exist as for one that does not
 */
export function idOf(given: unknown, notFound: () => LastcallError): string {
  if (typeof given !== 'string' || !isUuid(given)) throw notFound();
  return given.toLowerCase();
}

/** @throws {LastcallError} order_not_found */
export const orderIdOf = (given: unknown): string => idOf(given, orderNotFound);
