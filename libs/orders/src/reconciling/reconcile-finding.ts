import type { ForeignMove } from '../money/foreign-money';
import type { Capture } from '../money/judged-captures';
import type { MovementKind } from '../money/movements';
import type { SettledAnswer } from '../money/settle-refunds';
import type { PaymentStatus, RefundStatus } from '../order/order';

/** A payment of ours with its refunds, as our books have it. */
export interface OurPayment {
  readonly id: string;
  readonly orderId: string;
  readonly providerPaymentId: string | null;
  readonly status: PaymentStatus;
  readonly captured: { readonly amount: number; readonly currency: string } | null;
  /** Captured since the run began: the page of the ledger may be older. */
  readonly isNew: boolean;
  readonly refunds: readonly OurRefund[];
  /** What moved at the provider by none of our requests: the provider's ids of refunds and disputes. */
  readonly foreign: readonly { readonly kind: MovementKind; readonly ref: string }[];
}

export interface OurRefund {
  readonly id: string;
  readonly status: RefundStatus;
  readonly attempt: number;
  readonly amount: number;
  readonly providerRefundId: string | null;
  /** Sent back by another way than the provider, as an operator has said: it knows of none. */
  readonly isByHand: boolean;
  /** Sent or settled since the run began, as above. */
  readonly isNew: boolean;
}

/** What settles a difference, where only one thing can be right. */
export type Fix =
  | { readonly type: 'capture'; readonly orderId: string; readonly capture: Capture }
  | {
      readonly type: 'refund';
      readonly refundId: string;
      readonly attempt: number;
      readonly answer: SettledAnswer;
    }
  | {
      readonly type: 'foreign';
      readonly move: ForeignMove;
      /** A refund without our key: it may be one that we owe, and somebody has made by hand. */
      readonly mayBeOurs?: boolean;
    };

export interface Finding {
  readonly kind: 'ours_only' | 'theirs_only' | 'different';
  readonly subject: 'payment' | 'refund' | 'dispute';
  /** What is different: `status`, `amount`, `reference`, or `existence` where one side has none. */
  readonly what: 'existence' | 'status' | 'amount' | 'reference';
  readonly paymentId: string | null;
  readonly orderId: string | null;
  readonly refundId: string | null;
  /** The provider's id of the payment or the refund. */
  readonly providerId: string | null;
  readonly ours: string | null;
  readonly theirs: string | null;
  readonly fix?: Fix;
}

/** Whether one of theirs, by its id there, stands in our books as this. */
export const hasMovement = ({ foreign }: OurPayment, kind: MovementKind, ref: string): boolean =>
  foreign.some((one) => one.kind === kind && one.ref === ref);
