import { type Attempted, failpoint, type Tx } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { alertOfEnd, CREATE_LIMIT_S, endAtProvider } from '../closing/end-at-provider';
import { judgeAnswer } from '../closing/provider-answer.judgement';
import { LastcallError } from '../order/errors';
import type { ProviderAnswer } from '../providers/payment-provider';
import type { TargetPayment } from './close-target';
import { TargetClosing } from './target-closing';
import { TargetMoney } from './target-money';
import { findTargetNamesakes } from './target-namesakes';
import { NO_ID } from './target-payments';
import {
  askingKind,
  FOLLOW_UP_LOCK_LIMIT,
  TARGET_PARTS,
  type TargetParts,
  targetOf,
} from './target-parts';

interface Asked {
  readonly payment: TargetPayment;
  readonly isExpired: boolean;
  readonly answer: ProviderAnswer;
}

/**
 * The careful lane for one order of a shop's own: ends its open payments at the provider, outside any
 * transaction; only final answers close the order or pay it. What was opened meanwhile is seen under
 * the order's lock, and asked about by the next attempt.
 */
@Injectable()
export class TargetSettling {
  constructor(
    @Inject(TARGET_PARTS) private readonly parts: TargetParts,
    private readonly closing: TargetClosing,
    private readonly money: TargetMoney,
  ) {}

  /** `succeeded` where a provider has answered, if not for good, or the order is closed now. */
  async settle(kind: string, orderId: string): Promise<Attempted> {
    const { runtime, providers } = this.parts;
    const payments = await runtime.inHostTransaction(
      async (tx) =>
        (await this.#obey(tx, kind, orderId)) ? [] : this.closing.openPayments(tx, kind, [orderId]),
      FOLLOW_UP_LOCK_LIMIT,
    );
    // By the database's clock: a machine whose own is wrong must take no payment for expired.
    await runtime.clock.freshen();
    const overMs = runtime.clock.nowMs() - CREATE_LIMIT_S * 1_000;
    const asked: Asked[] = [];
    for (const payment of payments) {
      const isExpired = payment.expiresAt.getTime() <= overMs;
      const answer = await endAtProvider(providers.of(payment.provider), payment);
      asked.push({ payment, isExpired, answer });
    }
    await failpoint('target.answered');
    const isClosed = await runtime.inHostTransaction(async (tx) => {
      await this.#apply(tx, kind, asked);
      const isClosed = await this.#finish(tx, kind, orderId);
      await this.parts.orders.noteWhy(tx, kind, orderId, whyUnanswered(asked));
      await failpoint('target.applied');
      return isClosed;
    }, FOLLOW_UP_LOCK_LIMIT);
    await failpoint('target.settled');
    const isAnswered = asked.some(({ answer }) => answer.state !== 'UNKNOWN');
    return isAnswered || isClosed ? 'succeeded' : 'nothing';
  }

  /**
   * Carries out what an operator has said of an order whose provider never tells; false where nobody
   * has. Money that shows up all the same is handled as all late money is.
   */
  async #obey(tx: Tx, kind: string, orderId: string): Promise<boolean> {
    const { orders, payments } = this.parts;
    if (!(await orders.told(tx, kind, orderId))) return false;
    // The shop's row first, then ours: everybody locks in that order.
    const isLocked = (await targetOf(this.parts, kind).lockOpen([orderId], tx)).get(orderId);
    if (isLocked === false) throw busy();
    await orders.lock(tx, kind, [orderId]);
    // Once more, under the lock: the order may have ended meanwhile, or somebody thought better of it.
    const word = await orders.told(tx, kind, orderId);
    if (!word) return false;
    const isPaid = word.as === 'paid';
    const paidBy = isPaid ? await this.#unpaidPayment(tx, kind, orderId, word.payment) : undefined;
    if (isPaid && !paidBy) return false;
    const open = await this.closing.openPayments(tx, kind, [orderId]);
    const others = open.filter(({ paymentId }) => paymentId !== paidBy?.paymentId);
    await payments.end(tx, kind, others);
    if (paidBy) {
      const { amount, currency, providerPaymentId } = paidBy;
      const money = { amount, currency, paidAt: new Date(this.parts.runtime.clock.nowMs()) };
      const capture = { payment: paidBy, providerPaymentId: providerPaymentId ?? NO_ID, money };
      // Its money is judged as a provider's word of it is: one that the shop has moved on is not paid by us.
      if ((await this.money.record(tx, kind, [capture])).includes('busy')) throw busy();
    }
    await this.#finish(tx, kind, orderId);
    return true;
  }

  /** The payment that somebody named, if it can be what has paid this order; else the word is dropped. */
  async #unpaidPayment(
    tx: Tx,
    kind: string,
    orderId: string,
    named: string | null,
  ): Promise<TargetPayment | undefined> {
    const { orders, telemetry } = this.parts;
    const found = await targetOf(this.parts, kind).findPayments(named === null ? [] : [named], tx);
    const payment = found.find((one) => one.orderId === orderId);
    const why = payment
      ? await this.#whyNotPaidBy(tx, kind, payment)
      : 'the order has no such payment';
    if (why === undefined) return payment;
    await orders.forgetWord(tx, kind, orderId);
    const fields = { kind, orderId, payment: named, why };
    tx.afterCommit(() => telemetry.alert('operators_word_refused', fields));
    return undefined;
  }

  async #whyNotPaidBy(tx: Tx, kind: string, payment: TargetPayment): Promise<string | undefined> {
    const { payments, runtime } = this.parts;
    const recorded = (await payments.recorded(tx, kind, [payment]))(payment);
    if (recorded.some(({ captured }) => captured)) return 'its money is recorded already';
    const { providerPaymentId } = payment;
    if (providerPaymentId === null) return undefined;
    const named = { payment, providerPaymentId };
    const [namesake] = (await findTargetNamesakes(tx, runtime.schema, [named])).values();
    return namesake === undefined
      ? undefined
      : `payment ${namesake} has its id at the provider, and that one's money`;
  }

  async #apply(tx: Tx, kind: string, asked: readonly Asked[]): Promise<void> {
    const captures = asked.flatMap(({ payment, answer }) =>
      answer.state === 'PAID' ? [{ ...answer, payment }] : [],
    );
    const outcomes = await this.money.record(tx, kind, captures);
    if (outcomes.includes('busy')) throw busy();
    const ends = asked.filter(
      ({ answer, isExpired }) => judgeAnswer(answer.state, isExpired) === 'closed',
    );
    const ended = ends.map(({ payment }) => payment);
    const open = new Set(await this.parts.payments.stillOpen(tx, kind, ended));
    for (const { payment, isExpired, answer } of ends) {
      const alert = alertOfEnd(payment, isExpired, answer);
      const { provider, paymentId, orderId } = payment;
      // Of money that came while it was asked we know better: we may have sent it back ourselves.
      if (!alert || !open.has(payment)) continue;
      tx.afterCommit(() =>
        this.parts.telemetry.alert(alert, { kind, orderId, provider, paymentId }),
      );
    }
    await this.parts.payments.end(tx, kind, ended);
  }

  /** True where the order is closed by it. */
  async #finish(tx: Tx, kind: string, orderId: string): Promise<boolean> {
    const { orders, timeouts } = this.parts;
    const isLocked = (await targetOf(this.parts, kind).lockOpen([orderId], tx)).get(orderId);
    if (isLocked === false) throw busy();
    const order = (await orders.lock(tx, kind, [orderId])).get(orderId);
    const left = await this.closing.openPayments(tx, kind, [orderId]);
    if (left.length > 0) return false;
    if (order?.status === 'closing') {
      if (isLocked) await this.closing.close(tx, kind, [orderId], order.reason);
      // By somebody else's doing: of what comes for it now, nobody here can tell what it is for.
      else await orders.forget(tx, kind, orderId);
    } else {
      await orders.forgetWord(tx, kind, orderId);
    }
    await timeouts.cancel(tx, { kind: askingKind(kind), subjectId: orderId });
    return order?.status === 'closing' && isLocked === true;
  }
}

/** By the first of its payments of which that is so. */
function whyUnanswered(asked: readonly Asked[]): string | null {
  for (const { answer } of asked) if (answer.state === 'UNKNOWN') return answer.why;
  return null;
}

const busy = (): LastcallError =>
  new LastcallError('busy', 'Somebody is changing this order; it is tried again');
