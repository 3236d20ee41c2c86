import { z } from 'zod';

/** Longer ones are in no index, and Postgres has no text with a NUL. */
const id = z
  .string()
  .min(1)
  .max(500)
  .refine((text) => !text.includes('\0'), 'must have no NUL');
const money = z.object({
  amount: z.int().min(0),
  currency: z.string(),
  paidAt: z.date(),
});
const state = <State extends string>(...names: readonly [State, ...State[]]) => z.enum(names);

/** Of opening a payment: a buyer without an address has nowhere to pay. */
export const CREATE_ANSWER = z.discriminatedUnion('state', [
  z.object({ state: state('CREATED'), providerPaymentId: id, checkoutUrl: z.string().min(1) }),
  z.object({ state: state('REFUSED', 'NOT_MADE', 'UNKNOWN') }),
]);

export const PAYMENT_ANSWER = z.discriminatedUnion('state', [
  z.object({ state: state('PAID', 'REFUNDED'), providerPaymentId: id, money }),
  z.object({ state: state('UNPAID', 'IN_FLIGHT', 'CLOSED_UNPAID'), providerPaymentId: id }),
  z.object({ state: state('NOT_FOUND', 'NEVER_MADE', 'UNKNOWN') }),
]);

export const EXTEND_ANSWER = z.discriminatedUnion('state', [
  z.object({ state: state('EXTENDED'), expiresAt: z.date() }),
  z.object({ state: state('REFUSED', 'UNKNOWN') }),
]);

export const REFUND_ANSWER = z.discriminatedUnion('state', [
  z.object({ state: state('PENDING', 'SUCCEEDED'), providerRefundId: id }),
  z.object({ state: state('FAILED'), providerRefundId: id.nullable() }),
  z.object({ state: state('UNKNOWN') }),
]);

/**
 * Whoever wrote the code of a provider: what is no answer by these rules says nothing, and is a bug of that code.
 * @throws {TypeError} naming what is wrong with it
 */
export function assertSensible(rules: z.ZodType, answer: unknown): void {
  const [issue] = rules.safeParse(answer).error?.issues ?? [];
  if (!issue) return;
  const where = issue.path.length === 0 ? 'the answer' : issue.path.join('.');
  throw new TypeError(`The provider's answer makes no sense: ${where}: ${issue.message}`);
}
