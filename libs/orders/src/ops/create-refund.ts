import { queryRows, TimeoutService, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ReadOrder } from '../closing/read-order';
import { DATABASE } from '../data-source';
import { type PaymentBalance, readBalances, refundable } from '../money/balance';
import { ForeignMoney } from '../money/foreign-money';
import { requestRefunds, type RefundOrder } from '../money/request-refunds';
import { LastcallError } from '../order/errors';
import { orderIdOf } from '../order/given-id';
import { PaymentProviders } from '../providers/payment-providers';
import { HostsProvider } from '../providers/switched-off.provider';
import type { OrderView } from '../order/order';
import { type Accountable, recordAction } from '../order/operator-action';
import { OrderGuard } from '../order/order-guard';
import { readOrder } from '../order/order-rows';
import { restock, type ReturnedLine } from '../stock/restock';
import { findByKey, rememberKey } from './refund-keys';

export interface RefundCommand extends Accountable {
  /** Minor units of the order's currency. */
  readonly amount: number;
  /** What came back, to be sold again. */
  readonly restock?: readonly ReturnedLine[] | undefined;
  readonly dryRun?: boolean;
  /** The same key stands for the same refund, however often it is sent. */
  readonly idempotencyKey?: string | undefined;
}

export interface CreatedRefund {
  readonly order: OrderView;
  /** True when this key had requested it before. */
  readonly replayed: boolean;
  readonly refundIds: readonly string[];
}

/**
 * An operator sends a part of an order's money back, or all of it: then an order that has not been
 * shipped is canceled. Never more than the order holds: the order's row is locked while it is read.
 */
@Injectable()
export class CreateRefund {
  constructor(
    private readonly guard: OrderGuard,
    private readonly timeouts: TimeoutService,
    private readonly money: ForeignMoney,
    private readonly reading: ReadOrder,
    private readonly providers: PaymentProviders,
    @Inject(DATABASE) private readonly dataSource: DataSource,
  ) {}

  /** False where a provider has the order's money whose code is in other processes: one of them asks what it would refuse. */
  async canPlanHere(orderId: string): Promise<boolean> {
    const paid = await queryRows<{ provider: string }>(
      this.dataSource,
      `SELECT provider FROM payments WHERE order_id = $1 AND status = 'succeeded'`,
      [orderIdOf(orderId)],
    );
    return paid.every(({ provider }) => !(this.providers.of(provider) instanceof HostsProvider));
  }

  /**
   * @throws {LastcallError} order_not_found, refund_exceeds_balance, amount_not_chargeable,
   *   restock_exceeds_order, restock_not_supported, idempotency_key_reused, hooks_elsewhere, busy
   */
  async create(orderId: string, command: RefundCommand): Promise<CreatedRefund> {
    const { amount, restock: returned = [], dryRun = false, actor, reason } = command;
    const accountable = { actor, reason };
    const made = await this.guard.withOrder(
      orderId,
      async ({ id, status }, tx) => {
        const known = await findByKey(tx, id, command);
        if (known) {
          return { order: await readOrder(tx, id), refundIds: known, replayed: true };
        }
        await this.guard.takeBack(tx, await restock(tx, { id, status }, returned));
        const parts = await allot(tx, id, amount);
        await this.#plan(tx, parts);
        const ids = await requestRefunds(tx, this.timeouts, parts, 'operator');
        await recordAction(tx, 'refund.create', 'refund', ids, accountable);
        const cause = { by: 'operator', closeReason: 'operator_canceled', ...accountable } as const;
        await this.money.settle(tx, [id], cause);
        await rememberKey(tx, id, command, ids);
        return { order: await readOrder(tx, id), refundIds: ids, replayed: false };
      },
      { dryRun },
    );
    return dryRun ? { ...made, order: await this.reading.readOfAnyCustomer(orderId) } : made;
  }

  /** What a provider would refuse again and again would end with an operator, a day later. */
  async #plan(tx: Transaction, parts: readonly RefundOrder[]): Promise<void> {
    const rows = await tx.rows<{ id: string; provider: string }>(
      'SELECT id, provider FROM payments WHERE id = ANY ($1::uuid[])',
      [parts.map(({ paymentId }) => paymentId)],
    );
    const providers = new Map(rows.map(({ id, provider }) => [id, provider]));
    for (const { paymentId, amount, currency } of parts) {
      const provider = this.providers.of(providers.get(paymentId) ?? '');
      provider.planRefund?.({ amount, currency });
    }
  }
}

/**
 * From which payments it comes: the oldest first, and none whose money is on hold. What an operator has decided to
 * keep pays for no order, and comes last.
 */
async function allot(tx: Transaction, orderId: string, amount: number): Promise<RefundOrder[]> {
  const [order] = await tx.rows<{ currency: string }>('SELECT currency FROM orders WHERE id = $1', [
    orderId,
  ]);
  const balances = (await readBalances(tx, [orderId])).filter(
    ({ currency, held }) => currency === order?.currency && held === 0,
  );
  const ownFirst = balances.toSorted((a, b) => Number(a.isForTheShop) - Number(b.isForTheShop));
  const parts: RefundOrder[] = [];
  let rest = amount;
  for (const { paymentId, currency, ...balance } of ownFirst) {
    const part = Math.min(rest, refundable({ paymentId, currency, ...balance }));
    if (part > 0) parts.push({ paymentId, currency, amount: part, reason: 'operator' });
    rest -= part;
  }
  if (rest > 0) throw exceeds(amount, balances);
  return parts;
}

function exceeds(amount: number, balances: readonly PaymentBalance[]): LastcallError {
  const left = balances.reduce((sum, balance) => sum + refundable(balance), 0);
  return new LastcallError(
    'refund_exceeds_balance',
    `${amount} is more than this order still holds: at most ${left} can be refunded`,
    { refundable: left },
  );
}
