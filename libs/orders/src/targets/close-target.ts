import { markOnce, type Tx } from '@app/timeout';
import type { CapturedMoney, PaymentRef } from '../providers/payment-provider';

/** An order that still waits for its money, as its own shop's table says. */
export interface OpenOrder {
  readonly id: string;
  /** False where somebody else is changing its row: it is looked at again in half a second. */
  readonly locked: boolean;
}

/**
 * A payment of the shop's own, as its provider knows it. Its `paymentId` is all that a provider tells of it,
 * so that no two targets may have one of the same id at one provider: money for it is held then, and an
 * order that has such a payment is not closed. All but `providerPaymentId` (for which an empty text counts as null)
 * and `request` has to be in its row before its provider is asked to open it: while a payment has an id, an order,
 * an amount or an `expiresAt` that is null, all that it is among the answers to fails.
 */
export interface TargetPayment extends PaymentRef {
  readonly orderId: string;
  /** The name of the {@link PaymentProvider} that it was opened at. */
  readonly provider: string;
}

/** An order whose money is there. */
export interface PaidOrder {
  readonly id: string;
  readonly provider: string;
  readonly paymentId: string;
  /** Empty where an operator said that it was paid before anybody knew the provider's id. */
  readonly providerPaymentId: string;
  readonly money: CapturedMoney;
}

/**
 * An orders table of the shop's own, as lastcall closes it. All of it works on sets, in the transaction
 * that it is given: what it does there and what lastcall writes down commit together. Ids are text,
 * whatever their type in the table. What it throws undoes the transaction, which is tried again.
 */
export interface ClosesOrders {
  /**
   * Of these, the orders that wait for payment, with the rows locked that nobody else is changing:
   * `SELECT ... FOR UPDATE SKIP LOCKED`. It must wait for nobody. One that somebody holds is answered
   * with `locked: false`; one that is left out has moved on, and is not asked about again. An order
   * behind the fence still waits for payment.
   */
  lockOpen(orderIds: readonly string[], tx: Tx): Promise<readonly OpenOrder[]>;
  /**
   * The payments of these orders that a buyer could still make, or of which the shop does not know.
   * Those that lastcall has seen the end of may be among them.
   */
  openPayments(orderIds: readonly string[], tx: Tx): Promise<readonly TargetPayment[]>;
  /**
   * The payments of these ids, whatever has become of them and of their orders. Ids of other targets' payments
   * may be among them: text that is no number, where its own are numbers, has to be passed over.
   */
  findPayments(paymentIds: readonly string[], tx: Tx): Promise<readonly TargetPayment[]>;
  /** Closes orders that `lockOpen` has locked: status, stock, coupons. Answers with those it closed: all. */
  close(orderIds: readonly string[], reason: string, tx: Tx): Promise<readonly string[]>;
  /** Marks orders as paid that `lockOpen` has locked. Answers with the ids of those it marked: all. */
  markPaid(orders: readonly PaidOrder[], tx: Tx): Promise<readonly string[]>;
  /**
   * For shops that have a status for it: no new payments, the provider is being asked about those that
   * are open. Without it {@link CloseTargets.isClosing} tells.
   */
  fence?(orderIds: readonly string[], tx: Tx): Promise<void>;
}

export interface CloseTargetOptions {
  /** Of the deadlines that close its orders, as in `timeouts.arm(tx, { kind, subjectId, dueAt })`. */
  readonly kind: string;
  /** The most orders that one transaction closes; 500 unless given. */
  readonly maxBatch?: number | undefined;
}

const MARK = 'lastcall:close-target';

/**
 * Makes a class the way by which lastcall closes the orders of a table of the shop's own.
 * @throws {TypeError} for a class that has one of these already
 */
export const CloseTarget = (
  options: CloseTargetOptions,
): (<T extends abstract new (...args: never[]) => ClosesOrders>(target: T) => void) =>
  markOnce('CloseTarget', MARK, options);

/** @throws {TypeError} for a class without `@CloseTarget` */
export function closeTargetOptions(target: { readonly name: string }): CloseTargetOptions {
  const options = Reflect.getMetadata(MARK, target) as CloseTargetOptions | undefined;
  if (options?.kind) return options;
  throw new TypeError(`${target.name} is no @CloseTarget({ kind: '...' })`);
}

/** @throws {TypeError} where two are of one kind: their orders would be closed by one of them */
export function assertKindsApart(targets: readonly { readonly name: string }[]): void {
  const byKind = new Map<string, string>();
  for (const target of targets) {
    const { kind } = closeTargetOptions(target);
    const other = byKind.get(kind);
    if (other !== undefined) {
      throw new TypeError(
        `CloseTargetModule: ${other} and ${target.name} are both of the kind "${kind}": each target has one of its own`,
      );
    }
    byKind.set(kind, target.name);
  }
}
