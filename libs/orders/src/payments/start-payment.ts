import { CommitUnknownError, failpoint, queryRows, sqlStateOf } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ExtendPayments } from '../closing/extend-payments';
import { ReadOrder } from '../closing/read-order';
import { SettleClosing } from '../closing/settle-closing';
import { type Settings, SETTINGS } from '../config';
import { DATABASE } from '../data-source';
import { idGivenTwice } from '../money/namesakes';
import { LastcallError, orderNotFound } from '../order/errors';
import type { PaymentStatus, PaymentView } from '../order/order';
import { type GuardedOrder, OrderGuard } from '../order/order-guard';
import type { OrderStatus } from '../order/order.lifecycle';
import { onDataSource, readOrders } from '../order/order-rows';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';
import type { CreateAnswer, PaymentProvider, PaymentRef } from '../providers/payment-provider';
import { PaymentProviders } from '../providers/payment-providers';
import { isUnder } from '../providers/return-addresses';
import { findByKey, findOpen, type Planned, rememberKey } from './open-payments';
import { planPayment } from './plan-payment';

/** Of a payment's name at its provider: nothing else is written where there is a choice. */
const UNIQUE_VIOLATION = '23505';

export interface StartPaymentCommand {
  readonly orderId: string;
  readonly customerId: string;
  /** Default: the first of PAYMENT_PROVIDERS. */
  readonly provider?: string | undefined;
  /** Where the buyer comes back to; one of RETURN_URLS or under it, and the first by default. */
  readonly returnUrl?: string | undefined;
  /** A page of our own to come back to, which asks no permission. */
  readonly ownPageUrl?: string | undefined;
  /** The same key answers with the same payment, whatever has become of it, once there is one. */
  readonly idempotencyKey?: string | undefined;
}

export interface StartedPayment {
  readonly payment: PaymentView;
  /** True when this key had started it before. */
  readonly replayed: boolean;
}

interface Plan {
  /** The id of our row. */
  readonly payment: string;
  /** Where the provider still has to be called for it. */
  readonly planned?: Planned;
  /** True where it is open with a page that may have ended. */
  readonly doubtful?: boolean;
  readonly replayed: boolean;
}

/**
 * Opens a payment for an order at the provider, or answers with the one that is open there. Our row
 * is committed, with what will be sent, before the provider is called: so that whatever it does,
 * the close knows whom to ask, and a call whose answer was lost can be repeated word for word. One that may have
 * ended since it was opened is asked about, and followed by another one where it has.
 */
@Injectable()
export class StartPayment {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly guard: OrderGuard,
    private readonly reading: ReadOrder,
    private readonly providers: PaymentProviders,
    private readonly extending: ExtendPayments,
    private readonly settling: SettleClosing,
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  /**
   * @throws {LastcallError} order_not_found, payment_window_over, order_not_payable,
   *   too_many_payments, return_url_not_allowed, provider_not_available, currency_not_supported, amount_too_small,
   *   amount_not_chargeable, idempotency_key_reused, payment_refused, provider_error (then trying
   *   again goes on with the same payment, or opens another one if there is none), busy
   */
  async start(command: StartPaymentCommand): Promise<StartedPayment> {
    // Looking at an overdue order closes it; where that fails, its window is over all the same.
    const { id: orderId } = await this.reading.read(command.orderId, command.customerId);
    const chosen = this.providers.choose(command.provider);
    this.#checkReturn(command.returnUrl);
    const { payment, planned, replayed } = await this.#planOpen({ ...command, orderId }, chosen);
    if (planned) {
      const provider = this.providers.of(planned.provider);
      await failpoint('payment.opened');
      const answer = await provider.createPayment(planned);
      await failpoint('payment.created');
      await this.#apply(provider, planned, answer);
    }
    // The order may have been given more time while its payment was opened, or its provider was away.
    if (planned || !replayed) await this.extending.extendFor(orderId);
    const views = await readOrders(onDataSource(this.dataSource), [orderId]);
    const view = views.get(orderId)?.payments.find(({ id }) => id === payment);
    if (!view) throw new CommitUnknownError('a payment that was just written is gone');
    return { payment: view, replayed };
  }

  /** As {@link #plan}, until what it finds has not ended at its provider, as far as that says. */
  async #planOpen(command: StartPaymentCommand, chosen: PaymentProvider): Promise<Plan> {
    const plan = await this.#plan(command, chosen);
    if (!plan.doubtful) return plan;
    const isOver = await this.settling.settleEnded(command.orderId, plan.payment);
    return isOver ? this.#planOpen(command, chosen) : plan;
  }

  /** The payment to answer with. */
  async #plan(command: StartPaymentCommand, chosen: PaymentProvider): Promise<Plan> {
    return this.guard.withOrder(command.orderId, async (order, tx) => {
      if (order.customerId !== command.customerId) throw orderNotFound();
      const known = await findByKey(tx, command);
      // What became of it is the answer; an open one without a page has lost its call's answer.
      const isOver = known && (known.status !== 'open' || known.hasPage);
      if (isOver) {
        // Behind the fence, and once the order is paid, it is asked about in any case.
        const doubtful = known.mayHaveEnded && order.status === 'pending_payment';
        return { payment: known.paymentId, doubtful, replayed: true };
      }
      assertPayable(order);
      const open = known ?? (await findOpen(tx, command.orderId, chosen.name));
      const payment =
        open ?? (await planPayment(tx, command.orderId, chosen, this.#returnOf(command)));
      await rememberKey(tx, command, payment.paymentId);
      const { paymentId, mayHaveEnded: doubtful } = payment;
      const replayed = known !== undefined;
      return payment.hasPage
        ? { payment: paymentId, doubtful, replayed }
        : { payment: paymentId, planned: payment, replayed };
    });
  }

  /** Anybody could send the shop's buyers to a page of their own with an open one. */
  #checkReturn(returnUrl: string | undefined): void {
    if (returnUrl === undefined || isUnder(this.settings.RETURN_URLS ?? [], returnUrl)) return;
    const message = 'This shop does not let buyers come back to that returnUrl (RETURN_URLS)';
    throw new LastcallError('return_url_not_allowed', message);
  }

  #returnOf({ returnUrl, ownPageUrl }: StartPaymentCommand): string | null {
    return returnUrl ?? ownPageUrl ?? this.settings.RETURN_URLS?.[0] ?? null;
  }

  async #apply(provider: PaymentProvider, payment: Planned, answer: CreateAnswer): Promise<void> {
    if (answer.state === 'CREATED') {
      const { providerPaymentId, checkoutUrl } = answer;
      const status = await this.#update(
        payment,
        `SET provider_payment_id = $2, checkout_url = $3`,
        [providerPaymentId, checkoutUrl],
        "status <> 'failed'",
      ).catch((error: unknown) => this.#assertUnnamed(error, provider, payment, providerPaymentId));
      if (status === 'open' || status === 'succeeded') return;
      // The order was closed, or the payment given up, while the provider took its time: nobody may
      // pay there any more.
      await provider.closePayment({ ...payment, providerPaymentId });
      if (status === 'closed') throw paymentWindowOver('closed');
      throw notOpened(provider);
    }
    const { state, why } = answer;
    // That this call made nothing says nothing of one before it.
    const isNothingMade = state === 'REFUSED' || (state === 'NOT_MADE' && payment.isNew);
    if (isNothingMade) {
      // Nobody has to be asked about it, and no order has to wait for that.
      await this.#update(
        payment,
        `SET status = 'failed', failure = $2`,
        [why],
        "status = 'open' AND provider_payment_id IS NULL",
      );
    }
    if (state !== 'REFUSED') {
      // For who runs the shop alone: it may name addresses, accounts and keys.
      this.telemetry.failed('open payment', new Error(`${provider.name}: ${why}`));
      throw notOpened(provider);
    }
    await this.#assertInTime(provider, payment);
    const { paymentId } = payment;
    this.telemetry.alert('payment_refused', { provider: provider.name, paymentId, why });
    const message = 'The payment provider refuses this payment; trying again will not help';
    throw new LastcallError('payment_refused', message, { provider: provider.name });
  }

  /** Of what was called as another payment is, nothing is known but that: it is not to be closed there, either. */
  async #assertUnnamed(
    error: unknown,
    provider: PaymentProvider,
    { paymentId }: PaymentRef,
    providerPaymentId: string,
  ): Promise<never> {
    if (sqlStateOf(error) !== UNIQUE_VIOLATION) throw error;
    const [other] = await queryRows<{ id: string }>(
      this.dataSource,
      'SELECT id FROM payments WHERE provider = $1 AND provider_payment_id = $2',
      [provider.name, providerPaymentId],
    );
    const paymentIds = [paymentId, other?.id ?? 'another one'] as const;
    const named = { provider: provider.name, providerPaymentId, paymentIds };
    this.telemetry.failed('open payment', idGivenTwice(named));
    throw notOpened(provider);
  }

  /** A call that was held up until its payment had ended is refused for that alone. */
  async #assertInTime(provider: PaymentProvider, { paymentId }: PaymentRef): Promise<void> {
    const [late] = await queryRows<{ status: OrderStatus; is_over: boolean }>(
      this.dataSource,
      `SELECT o.status, o.status <> 'pending_payment' OR o.closes_at <= now() AS is_over
         FROM payments p JOIN orders o ON o.id = p.order_id
        WHERE p.id = $1 AND p.expires_at <= now()`,
      [paymentId],
    );
    // An order that was given more time may be paid by another payment.
    if (late) throw late.is_over ? paymentWindowOver(late.status) : notOpened(provider);
  }

  async #update(
    { paymentId }: PaymentRef,
    set: string,
    values: readonly unknown[],
    condition: string,
  ): Promise<PaymentStatus | undefined> {
    const [row] = await queryRows<{ status: PaymentStatus }>(
      this.dataSource,
      `UPDATE payments ${set} WHERE id = $1 AND ${condition} RETURNING status`,
      [paymentId, ...values],
    );
    return row?.status;
  }
}

function assertPayable(order: GuardedOrder): void {
  if (order.status === 'pending_payment' && !order.isWindowOver) return;
  if (order.status === 'pending_payment' || order.status === 'closing') {
    throw paymentWindowOver(order.status);
  }
  throw new LastcallError('order_not_payable', `This order is ${order.status}; nothing is to pay`, {
    status: order.status,
  });
}

function notOpened({ name: provider }: PaymentProvider): LastcallError {
  const message = 'The payment provider did not open a payment; try again in a moment';
  return new LastcallError('provider_error', message, { provider });
}

function paymentWindowOver(status: OrderStatus): LastcallError {
  return new LastcallError(
    'payment_window_over',
    'The time to pay this order is over; place a new one',
    { status },
  );
}
