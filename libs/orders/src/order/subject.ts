/**
 * A subject becomes a column and a label: 1 to 200 characters, none of them for control. Half a pair
 * of surrogates is none: Postgres would store all of them as one and the same customer.
 */
const SUBJECT = /^[^\p{Cc}\p{Cs}]{1,200}$/u;
/** What stands for an erased text begins so (docs/privacy.md): whoever were called so had an erased customer's orders. */
export const ERASED = 'erased:';
const PSEUDONYM = new RegExp(`^${ERASED}[0-9a-f]{32}$`);
export const SUBJECT_RULE = `must have 1 to 200 characters, none of them for control, and must not begin with "${ERASED}"`;

/** Who may have orders, or had them and was erased. */
export const isCustomer = (value: unknown): value is string =>
  typeof value === 'string' && SUBJECT.test(value);

/** Who may call, or be called, a customer from now on. */
export const isSubject = (value: unknown): value is string =>
  isCustomer(value) && !value.startsWith(ERASED);

/** What stands for who was erased. */
export const isPseudonym = (customer: string): boolean => PSEUDONYM.test(customer);
