import { z } from 'zod';
import { ERASABLE_RULE, isErasable, REASON_LENGTH } from '../order/operator-action';
import { isPlainText, PLAIN_TEXT_RULE } from '../order/plain-text';
import { unlessMissing, wholeNumber } from '../order/read-input';
import { UUID } from '../order/uuid';

// What several requests have.

const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 20;

export const text = (min: number, max: number) => {
  const message = `must have ${min} to ${max} characters`;
  return (
    z
      .string(unlessMissing('must be a text'))
      .trim()
      .min(min, message)
      .max(max, message)
      // Postgres keeps no NUL, and a terminal should not act on what an operator reads.
      .refine(isPlainText, PLAIN_TEXT_RULE)
  );
};

export const noBody = z.strictObject({}).nullish();

export const limitTo = (most: number) =>
  z
    .string()
    .regex(/^\d{1,4}$/, `must be a whole number from 1 to ${most}`)
    .transform(Number)
    .pipe(wholeNumber(1, most));
export const pageQuery = {
  limit: limitTo(MAX_LIMIT).default(DEFAULT_LIMIT),
  cursor: z.string().regex(UUID, 'must be the nextCursor of an earlier answer').optional(),
};

export const reasonText = text(REASON_LENGTH.min, REASON_LENGTH.max).refine(
  isErasable,
  ERASABLE_RULE,
);
export const reason = reasonText.meta({ examples: ['customer called: wrong address'] });

export const reasonBody = z.strictObject({ reason: reason.optional() }).nullish();
