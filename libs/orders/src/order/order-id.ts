import { orderNotFound } from './errors';
import { isUuid } from './uuid';

/**
 * An order's id as Postgres writes it, of what somebody has passed as one.
 * @throws {LastcallError} order_not_found for one that cannot exist, as for one that does not
 */
export function orderIdOf(given: unknown): string {
  if (typeof given !== 'string' || !isUuid(given)) throw orderNotFound();
  return given.toLowerCase();
}
