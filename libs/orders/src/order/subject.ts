/**
 * A subject becomes a column and a label: 1 to 200 characters, none of them for control. Half a pair
 * of surrogates is none: Postgres would store all of them as one and the same customer.
 */
const SUBJECT = /^[^\p{Cc}\p{Cs}]{1,200}$/u;
export const SUBJECT_RULE = 'must have 1 to 200 characters, none of them for control';

export const isSubject = (value: unknown): value is string =>
  typeof value === 'string' && SUBJECT.test(value);
