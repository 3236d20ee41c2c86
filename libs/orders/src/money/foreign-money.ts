import { TimeoutService, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import type { StatusChange } from '../order/change-status';
import { OrderGuard } from '../order/order-guard';
import type { OrderStatus } from '../order/order.lifecycle';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';
import { type PaymentBalance, readBalances, refundable } from './balance';
import { judgeMoney } from './balance.judgement';
import { oweAnew } from './cancel-unowed';
import { lockMeantPayment } from './meant-payment';
import {
  type Movement,
  type MovementKind,
  type MovementSource,
  recordMovements,
} from './movements';
import { type RefundOrder, requestRefunds } from './request-refunds';

/** Money that moved at the provider and that nobody of ours asked to move. */
export interface ForeignMove {
  readonly what:
    'refund.succeeded' | 'refund.failed' | 'dispute.opened' | 'dispute.won' | 'dispute.lost';
  readonly paymentId: string;
  readonly providerPaymentId: string;
  /** The provider's id of the refund or the dispute. */
  readonly providerId: string;
  /** Minor units. */
  readonly amount: number;
  /** Of a dispute that is lost: what of the amount came back all the same, whenever that is told. */
  readonly returned?: number | undefined;
  /** Ours, of which this is another attempt than the one by which it is over: its money went back twice. */
  readonly besideRefundId?: string | undefined;
}

/**
 * `contradiction`: a dispute that was decided is said to have been decided otherwise, by what may be an old story: a
 * notice is one, a ledger as it stands now is none, unless it was decided otherwise once before. `busy`: somebody holds
 * the order, so nothing was done, and it has to be told again.
 */
export type ForeignOutcome = 'recorded' | 'known' | 'unknown_payment' | 'contradiction' | 'busy';

/**
 * What each tells, in any order: what is over has been there, so its beginning is written with it
 * and is known when it is told of later.
 */
const KINDS: Readonly<Record<ForeignMove['what'], readonly MovementKind[]>> = {
  'refund.succeeded': ['foreign_refund'],
  'refund.failed': ['foreign_refund', 'foreign_refund_failed'],
  'dispute.opened': ['disputed'],
  'dispute.won': ['disputed', 'dispute_won'],
  'dispute.lost': ['disputed', 'dispute_lost'],
};

/** Who made an order's money go back; by default the provider. */
export type MoneyCause = Pick<StatusChange, 'by' | 'actor' | 'reason' | 'closeReason'>;

/** Records refunds made at the provider and disputes, and settles the order with what is left. */
@Injectable()
export class ForeignMoney {
  constructor(
    private readonly guard: OrderGuard,
    private readonly timeouts: TimeoutService,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  async record(
    tx: Transaction,
    move: ForeignMove,
    source: MovementSource,
  ): Promise<ForeignOutcome> {
    const payment = await lockMeantPayment(tx, move.paymentId, move.providerPaymentId);
    if (!payment) return 'unknown_payment';
    if (payment === 'busy') return payment;
    const { id: paymentId, order_id: orderId } = payment;
    const known = await knownOf(tx, paymentId, move.providerId);
    const isOtherwise = isDecidedOtherwise(known, move);
    if (isOtherwise && source !== 'reconcile') return 'contradiction';
    const again = secondRefOf(move.providerId);
    const isOver = !isOtherwise && (await knownOf(tx, paymentId, again)).size > 0;
    const ref = isOtherwise ? again : move.providerId;
    const amount = amountBegun(known, move) ?? move.amount;
    const { currency } = payment;
    const returned = move.what === 'dispute.lost' ? Math.min(move.returned ?? 0, amount) : 0;
    const ids = { orderId, paymentId, ref, currency, source, reason: move.besideRefundId };
    const isWonAfterAll = isOtherwise && move.what === 'dispute.won';
    const kinds = isWonAfterAll ? [] : KINDS[move.what];
    const movements = kinds.map((kind): Movement => ({ ...ids, kind, amount }));
    const back = isWonAfterAll ? amount - (known.get('dispute_returned') ?? 0) : returned;
    if (back > 0) movements.push({ ...ids, kind: 'dispute_returned', amount: back });
    // What is told late of an end that another one has followed is in that one; a third end is a person's to look at.
    const isNew = movements.some(({ kind }) => !known.has(kind));
    if (isOver && (isNew || source === 'reconcile')) return 'contradiction';
    const written = await recordMovements(tx, movements);
    if (written.length === 0) return 'known';
    const other = amount === move.amount ? {} : { told: move.amount };
    const beside = move.besideRefundId ? { refundId: move.besideRefundId } : {};
    const told = { ...other, ...(returned > 0 ? { returned } : {}), ...beside };
    const about = { orderId, paymentId, amount, currency, providerId: move.providerId, ...told };
    tx.afterCommit(() => this.telemetry.alert(alertOf(move, written), about));
    if (move.what === 'refund.failed' && move.besideRefundId) {
      await oweAnew(tx, this.timeouts, { paymentId, refundId: move.besideRefundId });
    }
    await this.settle(tx, [orderId]);
    return 'recorded';
  }

  /**
   * Looks at orders whose money has moved: one without any left is canceled, and what one that is over still
   * holds goes to the customer, as what came back to us. So does what came back of money that pays nothing,
   * whatever its order is. The caller has locked the orders' rows.
   */
  async settle(tx: Transaction, orderIds: readonly string[], cause?: MoneyCause): Promise<void> {
    const orders = await tx.rows<{
      id: string;
      status: OrderStatus;
      amount: string;
      currency: string;
    }>('SELECT id, status, amount, currency FROM orders WHERE id = ANY ($1::uuid[])', [orderIds]);
    // Before the rest is judged: it is nothing that an order could be paid with.
    let all = await readBalances(tx, orderIds);
    const stranded = withoutHome(all.filter((one) => one.paysForNothing));
    if (stranded.length > 0) {
      await requestRefunds(tx, this.timeouts, stranded);
      all = await readBalances(tx, orderIds);
    }
    for (const { id, status, amount, currency } of orders) {
      const ofOrder = all.filter(({ orderId }) => orderId === id);
      const balances = ofOrder.filter((one) => one.currency === currency);
      const judgement = judgeMoney({ status, amount: Number(amount), balances });
      if (judgement === 'cancel') {
        await this.guard.change(tx, {
          from: 'paid',
          to: 'canceled',
          orderIds: [id],
          by: 'provider',
          ...cause,
          closeReason: cause
            ? cause.closeReason
            : balances.some((one) => one.disputed > 0 && !one.paysForNothing)
              ? 'dispute_lost'
              : 'refunded_at_provider',
        });
      }
      if (judgement === 'refund') {
        await requestRefunds(tx, this.timeouts, withoutHome(ofOrder));
      }
    }
  }
}

const ALERTS: Readonly<Record<ForeignMove['what'], string>> = {
  'refund.succeeded': 'refunded_outside',
  'refund.failed': 'refund_failed_outside',
  'dispute.opened': 'dispute_opened',
  'dispute.won': 'dispute_won',
  'dispute.lost': 'dispute_lost',
};

function alertOf(move: ForeignMove, written: readonly Movement[]): string {
  if (move.besideRefundId && move.what === 'refund.succeeded') return 'refund_made_twice';
  const isRestOfEnd = written.every(({ kind }) => kind === 'dispute_returned');
  return isRestOfEnd && move.what === 'dispute.lost' ? 'dispute_part_returned' : ALERTS[move.what];
}

/**
 * What these payments still hold: neither going back, nor taken by a dispute, nor on
 * hold, nor for the shop to keep, as an operator has decided.
 */
function withoutHome(balances: readonly PaymentBalance[]): RefundOrder[] {
  return balances
    .filter((one) => one.held === 0 && !one.isForTheShop && refundable(one) > 0)
    .map((one) => ({ ...one, amount: refundable(one), reason: 'returned_money' as const }));
}

/** What is known of a refund or dispute at the provider: the amount of each of its movements. */
async function knownOf(
  tx: Transaction,
  paymentId: string,
  ref: string,
): Promise<ReadonlyMap<MovementKind, number>> {
  const rows = await tx.rows<{ kind: MovementKind; amount: string }>(
    'SELECT kind, amount FROM money_movements WHERE payment_id = $1 AND ref = $2',
    [paymentId, ref],
  );
  return new Map(rows.map(({ kind, amount }) => [kind, Number(amount)]));
}

/**
 * What was told of a dispute or a refund before its end: that comes back with it, or stays away, whatever
 * amount its end tells. The rest would be in dispute for good, or would hide another dispute; and what had
 * never gone would come back.
 */
function amountBegun(
  known: ReadonlyMap<MovementKind, number>,
  { what }: ForeignMove,
): number | undefined {
  const [begun, end] = KINDS[what];
  return begun && end && known.get(begun);
}

/** By what a dispute that was decided otherwise than before moves money: a kind moves once by one. */
export const secondRefOf = (disputeId: string): string => `${disputeId} again`;

const OTHER_END: Partial<Record<ForeignMove['what'], MovementKind>> = {
  'dispute.won': 'dispute_lost',
  'dispute.lost': 'dispute_won',
};

function isDecidedOtherwise(
  known: ReadonlyMap<MovementKind, unknown>,
  { what }: ForeignMove,
): boolean {
  const other = OTHER_END[what];
  return other !== undefined && known.has(other);
}
