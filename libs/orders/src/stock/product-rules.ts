import { isPlainText, PLAIN_TEXT_RULE } from '../order/plain-text';

/** What a product may be; one set of rules for the API, the CLI and files. */
export const SKU = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
export const SKU_RULE = 'must be 1 to 64 letters, digits, ".", "_" or "-"';
export const MAX_NAME_LENGTH = 200;
/** In minor units; an order of the most lines and pieces still adds up exactly. */
export const MAX_UNIT_PRICE = 1_000_000_000;
/** Pieces of one product that can be ordered. */
export const MAX_STOCK = 1_000_000_000;
/** With those of its orders, and all that was ever sold: so much its columns hold. */
export const MAX_COUNTED = 2_147_483_647;

/** A product as somebody wants it. */
export interface ProductToPut {
  readonly sku: string;
  readonly name: string;
  /** In minor units of `currency`. */
  readonly unitPrice: number;
  readonly currency: string;
  /** How many can be ordered from now on; left as it is when undefined. */
  readonly available?: number | undefined;
}

/** What is wrong with a product that a file describes, by field; empty when nothing is. */
export function complaintsOf(
  { sku, name, unitPrice, currency, available }: ProductToPut,
  takes: (currency: string) => boolean,
): string[] {
  const complaints: string[] = [];
  if (!SKU.test(sku)) complaints.push(`sku ${SKU_RULE}`);
  if (name.length < 1 || name.length > MAX_NAME_LENGTH) {
    complaints.push(`name must have 1 to ${MAX_NAME_LENGTH} characters`);
  } else if (!isPlainText(name)) complaints.push(`name ${PLAIN_TEXT_RULE}`);
  if (!isCount(unitPrice, MAX_UNIT_PRICE)) {
    complaints.push(`unitPrice must be a whole number from 0 to ${MAX_UNIT_PRICE}, in minor units`);
  }
  if (!/^[A-Z]{3}$/.test(currency)) {
    complaints.push('currency must be an ISO 4217 code such as EUR');
  } else if (unitPrice > 0 && !takes(currency)) {
    complaints.push(`currency ${currency} is not one that the payment provider takes`);
  }
  if (available !== undefined && !isCount(available, MAX_STOCK)) {
    complaints.push(`stock must be a whole number from 0 to ${MAX_STOCK}`);
  }
  return complaints;
}

function isCount(value: number, max: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= max;
}
