import type { Transaction } from '@app/timeout';
import { Injectable } from '@nestjs/common';
import { CancelWishes } from '../closing/cancel-wishes';
import { ReadOrder } from '../closing/read-order';
import { ForeignMoney } from '../money/foreign-money';
import { recordMovements } from '../money/movements';
import { LastcallError } from '../order/errors';
import type { OrderView } from '../order/order';
import { type Accountable, recordAction } from '../order/operator-action';
import { type GuardedOrder, OrderGuard } from '../order/order-guard';
import { readOrder } from '../order/order-rows';
import type { CloseReason } from '../order/order.lifecycle';

export interface SettleOrderCommand extends Accountable {
  readonly as: 'closed' | 'paid';
  /** Of `paid`: which payment it was. Needed where several are open. */
  readonly paymentId?: string | undefined;
  readonly dryRun?: boolean;
}

export interface SettledOrder {
  /** In a dry run as it was. */
  readonly order: OrderView;
  /** Also in a dry run: settled as paid it is canceled at once where its money, or its customer, says so. */
  readonly becomes: Pick<OrderView, 'status' | 'closeReason'>;
}

/**
 * Ends an order's `closing` when its provider will never answer: an operator has looked there and
 * says what became of the payment. Of an order that is over or paid, as by another payment, only what is still open
 * is ended (`closed`). Money that shows up later is handled as all late money is.
 */
@Injectable()
export class SettleOrder {
  constructor(
    private readonly guard: OrderGuard,
    private readonly money: ForeignMoney,
    private readonly wishes: CancelWishes,
    private readonly reading: ReadOrder,
  ) {}

  /** @throws {LastcallError} order_not_found, order_not_settleable, invalid_request, busy */
  async settle(
    orderId: string,
    { as, paymentId, dryRun = false, ...accountable }: SettleOrderCommand,
  ): Promise<SettledOrder> {
    if (as === 'closed' && paymentId !== undefined) {
      const message = 'A payment is named only where it was paid: as closed, all of them are ended';
      const errors = [{ field: 'paymentId', message }];
      throw new LastcallError('invalid_request', message, { errors });
    }
    const settled = await this.guard.withOrder(
      orderId,
      async (order, tx) => {
        if (order.status !== 'closing') {
          await endPayments(tx, order, as, accountable);
          return readOrder(tx, order.id);
        }
        const closeReason = await readCloseReason(tx, orderId);
        const paidBy = as === 'paid' ? [await takeAsPaid(tx, orderId, paymentId)] : [];
        await tx.rows(
          `UPDATE payments SET status = 'closed' WHERE order_id = $1 AND status = 'open'`,
          [orderId],
        );
        const change = { from: 'closing', orderIds: [orderId], by: 'operator' } as const;
        await this.guard.change(
          tx,
          as === 'paid'
            ? { ...change, ...accountable, to: 'paid' }
            : { ...change, ...accountable, to: 'closed', closeReason },
        );
        // What was told before of its money, as that it has gone back, ends it at once: it is paid by nothing.
        await this.money.settle(tx, [orderId]);
        // What its customer was told while it waited holds whoever says that it was paid.
        await this.wishes.carryOut(tx, paidBy, ['pay']);
        return readOrder(tx, order.id);
      },
      { dryRun },
    );
    const { status, closeReason } = settled;
    return {
      order: dryRun ? await this.reading.readOfAnyCustomer(orderId) : settled,
      becomes: { status, closeReason },
    };
  }
}

/** The order stays what it is: it was not waiting for these. */
async function endPayments(
  tx: Transaction,
  { id, status }: GuardedOrder,
  as: SettleOrderCommand['as'],
  accountable: Accountable,
): Promise<void> {
  if (as !== 'closed' || status === 'pending_payment') throw notSettleable(id, status);
  const ended = await tx.rows<{ id: string }>(
    `UPDATE payments SET status = 'closed' WHERE order_id = $1 AND status = 'open' RETURNING id`,
    [id],
  );
  if (ended.length === 0) throw notSettleable(id, status);
  const paymentIds = ended.map((payment) => payment.id);
  await recordAction(tx, 'payment.end', 'payment', paymentIds, accountable);
}

async function readCloseReason(tx: Transaction, orderId: string): Promise<CloseReason> {
  const [row] = await tx.rows<{ close_reason: CloseReason }>(
    'SELECT close_reason FROM orders WHERE id = $1',
    [orderId],
  );
  return (row as { close_reason: CloseReason }).close_reason;
}

/**
 * The payment that is open is the one that was paid, with all that was asked for; of several the one that is named:
 * money taken for another one would go back as taken twice. Why is said by the order's event, and by nothing
 * else: it is erased from there. Answers with that payment.
 */
async function takeAsPaid(
  tx: Transaction,
  orderId: string,
  wanted: string | undefined,
): Promise<string> {
  const [payment] = await tx.rows<{
    id: string;
    provider_payment_id: string | null;
    amount: string;
    currency: string;
  }>(
    `UPDATE payments SET status = 'succeeded', captured_amount = amount,
            captured_currency = currency, paid_at = now(), recorded_at = now()
      WHERE id = $1 RETURNING id, provider_payment_id, amount, currency`,
    [await findPaid(tx, orderId, wanted)],
  );
  if (!payment) throw notSettleable(orderId, 'closing, and none of its payments is open');
  const { id: paymentId, currency } = payment;
  const ref = payment.provider_payment_id ?? paymentId;
  const money = { amount: Number(payment.amount), currency, source: 'operator' } as const;
  await recordMovements(tx, [{ orderId, paymentId, kind: 'captured', ref, ...money }]);
  return paymentId;
}

/** Undefined where none is open. */
async function findPaid(
  tx: Transaction,
  orderId: string,
  wanted: string | undefined,
): Promise<string | undefined> {
  const open = await tx.rows<{ id: string; provider: string; named: string | null }>(
    `SELECT id, provider, provider_payment_id AS named FROM payments
      WHERE order_id = $1 AND status = 'open' ORDER BY id`,
    [orderId],
  );
  const payments = open.map(({ id }) => id);
  const facts = { orderId, status: 'closing', payments };
  if (wanted !== undefined) {
    const one = payments.find((id) => id === wanted.toLowerCase());
    if (one) return one;
    const message = `Payment ${wanted} is none of the open ones of order ${orderId}`;
    throw new LastcallError('order_not_settleable', message, facts);
  }
  if (open.length <= 1) return payments[0];
  const list = open.map(({ id, provider, named }) => `${id} (${provider}, ${named ?? 'no id'})`);
  throw new LastcallError(
    'order_not_settleable',
    `Order ${orderId} has ${open.length} payments that are open: ${list.join(', ')}; ` +
      'say which of them was paid, by --payment or paymentId',
    facts,
  );
}

function notSettleable(orderId: string, status: string): LastcallError {
  return new LastcallError(
    'order_not_settleable',
    `Order ${orderId} is ${status}; only an order that waits for its provider can be settled`,
    { orderId, status },
  );
}
