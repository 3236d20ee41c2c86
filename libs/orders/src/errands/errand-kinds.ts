import type { ExtendWindow } from '../closing/extend-window';
import type { CancelOrderByOperator } from '../ops/cancel-order-by-operator';
import type { CreateRefund } from '../ops/create-refund';
import type { CloseResult } from '../ops/force-close-orders';
import type { SettlePayment } from '../ops/held-payments';
import type { SettledOrder, SettleOrderCommand } from '../ops/settle-order';
import type { LastcallError } from '../order/errors';
import type { ActionRun } from '../order/operator-action';

/**
 * What a command can leave to a worker, with the arguments and the result of the use case: both travel as
 * JSON, so neither may hold what that cannot say, nor a secret. A worker of an older version does not look at
 * arguments that it does not know: each that changes what is done has a new name, which such a worker does
 * not take.
 */
export interface ErrandKinds {
  'orders.cancel': CancelOrderByOperator['cancel'];
  'orders.force-close': (orderIds: readonly string[], run: ActionRun) => Promise<CloseResult[]>;
  /** Of an order with a payment at a provider that the command has not, or not the secrets of. */
  'orders.extend': ExtendWindow['extendOnce'];
  'orders.settle': (
    orderId: string,
    command: SettleOrderCommand & { readonly paymentId?: undefined },
  ) => Promise<SettledOrder>;
  'orders.settle-payment': (
    orderId: string,
    command: SettleOrderCommand & { readonly paymentId: string },
  ) => Promise<SettledOrder>;
  'payments.settle': SettlePayment['settle'];
  'payments.correct': SettlePayment['settle'];
  'refunds.create': CreateRefund['create'];
  /** Of money that a provider of a host's own has, where no hook hears of it. */
  'refunds.create-at-provider': CreateRefund['create'];
}

export type ErrandName = keyof ErrandKinds;
export type ErrandArgs<Name extends ErrandName> = Parameters<ErrandKinds[Name]>;
export type ErrandResult<Name extends ErrandName> = Awaited<ReturnType<ErrandKinds[Name]>>;

/** Why it was not done, as it stands in a LastcallError. */
export type Refusal = Pick<LastcallError, 'code' | 'message' | 'fields'>;

/** What a worker writes down. */
export type Answer<Result> =
  { readonly result: Result; readonly refusal?: undefined } | { readonly refusal: Refusal };

/** Who asks takes it back by then. */
export const TAKEN_WITHIN_MS = 20_000;
/** Who asks looks each fifth of a second: an errand at which nobody has looked for so long is left alone. */
export const WAITED_FOR_MS = 3_000;
