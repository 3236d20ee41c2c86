import { failpoint, type Tx } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { type CaptureJudgement, judgeCapture } from '../money/capture.judgement';
import { idGivenTwice } from '../money/namesakes';
import type { OrderStatus } from '../order/order.lifecycle';
import { requestTargetRefunds } from './request-target-refunds';
import { TargetClosing } from './target-closing';
import { findTargetNamesakes } from './target-namesakes';
import type { TargetStatus } from './target-orders';
import {
  armIn,
  askingKind,
  REFUND_KIND,
  TARGET_PARTS,
  type TargetParts,
  targetOf,
} from './target-parts';
import type { JudgedTargetCapture, RecordedPayment, TargetCapture } from './target-payments';

/**
 * What became of a capture. Nothing was done by one that is `busy`: somebody is changing its order, so it has to be
 * told again; nor by one with the `id_of_another` payment at the provider, which is a bug of its adapter.
 */
export type TargetOutcome = 'pay' | 'known' | 'refund' | 'hold' | 'busy' | 'id_of_another';

/**
 * What an order is, seen from its money. `moved_on`: not open, and not by our doing, so that nobody
 * here can tell whether it has been paid by this very money.
 */
type Standing = 'open' | TargetStatus | 'busy' | 'moved_on';

const AS_ORDER_STATUS = {
  open: 'pending_payment',
  closing: 'closing',
  closed: 'closed',
  paid: 'paid',
  moved_on: 'closed',
} as const satisfies Record<Exclude<Standing, 'busy'>, OrderStatus>;

/** Records what was captured for orders of a shop's own, then decides: it pays, goes back, or waits. */
@Injectable()
export class TargetMoney {
  constructor(
    @Inject(TARGET_PARTS) private readonly parts: TargetParts,
    private readonly closing: TargetClosing,
  ) {}

  /** One outcome for each capture, in their order; all are of orders of one kind. */
  async record(tx: Tx, kind: string, captures: readonly TargetCapture[]): Promise<TargetOutcome[]> {
    if (captures.length === 0) return [];
    const standings = await this.#standings(tx, kind, captures);
    const namesakes = await findTargetNamesakes(tx, this.parts.runtime.schema, captures);
    const recorded = await this.parts.payments.recordedOf(tx, kind, captures, namesakes);
    const wave: JudgedTargetCapture[] = [];
    const outcomes = captures.map((capture): TargetOutcome => {
      const { orderId } = capture.payment;
      const standing = standings.get(orderId) ?? 'moved_on';
      if (standing === 'busy') return 'busy';
      // What this very set has brought counts as recorded: the second capture sees the first.
      const before = [...recorded(capture.payment), ...wave.filter(isOf(capture)).map(asRecorded)];
      const namesake =
        namesakes.get(capture) ?? wave.find(isNamesakeOf(capture))?.payment.paymentId;
      if (namesake !== undefined && !before.some(isCaptureOf(capture))) {
        this.#tellNamesake(tx, capture, namesake);
        return 'id_of_another';
      }
      const judgement = this.#judge(capture, standing, before);
      if (judgement.verdict === 'known') return 'known';
      if (judgement.verdict === 'pay') standings.set(orderId, 'paid');
      const { verdict, reason } = judgement;
      if (reason !== 'capture_changed') wave.push({ ...capture, verdict, reason });
      if (verdict === 'hold') this.#alertHold(tx, kind, capture, reason);
      return verdict;
    });
    await this.parts.payments.record(tx, kind, wave);
    await failpoint('target.recorded');
    await this.#pay(
      tx,
      kind,
      wave.filter(({ verdict }) => verdict === 'pay'),
    );
    await this.#refund(
      tx,
      kind,
      wave.filter(({ verdict }) => verdict === 'refund'),
    );
    return outcomes;
  }

  async #standings(
    tx: Tx,
    kind: string,
    captures: readonly TargetCapture[],
  ): Promise<Map<string, Standing>> {
    const orderIds = [...new Set(captures.map(({ payment }) => payment.orderId))].sort();
    // The shop's rows first, then ours: everybody locks in that order.
    const open = await targetOf(this.parts, kind).lockOpen(orderIds, tx);
    const ours = await this.parts.orders.lock(tx, kind, orderIds);
    return new Map(
      orderIds.map((id): [string, Standing] => {
        const isLocked = open.get(id);
        if (isLocked === false) return [id, 'busy'];
        const status = ours.get(id)?.status;
        if (isLocked) return [id, status === 'closing' ? 'closing' : 'open'];
        return [id, status === 'closed' || status === 'paid' ? status : 'moved_on'];
      }),
    );
  }

  #judge(
    { payment, providerPaymentId, money }: TargetCapture,
    standing: Exclude<Standing, 'busy'>,
    before: readonly RecordedPayment[],
  ): { readonly verdict: 'pay' | 'refund' | 'hold' | 'known'; readonly reason: string | null } {
    const paid = before.filter(({ captured }) => captured);
    const same = paid.find(isCaptureOf({ providerPaymentId }));
    const judgement: CaptureJudgement = judgeCapture(
      {
        paymentStatus: same ? 'succeeded' : 'open',
        providerPaymentId: same ? null : (paid[0]?.providerPaymentId ?? payment.providerPaymentId),
        amount: payment.amount,
        currency: payment.currency,
        captured: same?.captured ?? null,
        orderStatus: AS_ORDER_STATUS[standing],
        closesAt: null,
        closedByTimeout: false,
        // Only what we have closed is sent back: the shop may have been paid by this very money.
        latePayment: standing === 'moved_on' ? 'hold' : this.parts.latePayment,
      },
      { providerPaymentId, money },
    );
    switch (judgement.verdict) {
      case 'known':
      case 'pay':
        return { verdict: judgement.verdict, reason: null };
      case 'hold': {
        const isStranger = standing === 'moved_on' && judgement.reason === 'late_payment';
        return { verdict: 'hold', reason: isStranger ? 'order_moved_on' : judgement.reason };
      }
      case 'refund':
        return judgement;
      case 'revive':
        throw new Error('Orders of a shop of its own are not revived');
    }
  }

  async #pay(tx: Tx, kind: string, captures: readonly JudgedTargetCapture[]): Promise<void> {
    if (captures.length === 0) return;
    const orders = captures.map(({ payment, providerPaymentId, money }) => ({
      id: payment.orderId,
      ...{ provider: payment.provider, paymentId: payment.paymentId, providerPaymentId, money },
    }));
    await targetOf(this.parts, kind).markPaid(orders, tx);
    const ids = orders.map(({ id }) => id);
    await this.parts.orders.put(tx, kind, ids, { status: 'paid', reason: 'captured' });
    // A paid order needs no other payment: those still open are ended at the provider.
    const others = await this.closing.openPayments(tx, kind, ids);
    const left = [...new Set(others.map(({ orderId }) => orderId))];
    const delays = left.map((subjectId) => ({ subjectId, inMs: 0 }));
    await armIn(this.parts, tx, askingKind(kind), delays);
  }

  async #refund(tx: Tx, kind: string, captures: readonly JudgedTargetCapture[]): Promise<void> {
    const refunds = await requestTargetRefunds(tx, this.parts.runtime.schema, kind, captures);
    const delays = refunds.map((subjectId) => ({ subjectId, inMs: 0 }));
    await armIn(this.parts, tx, REFUND_KIND, delays);
    const late = captures.filter(({ reason }) => reason === 'late_payment').length;
    tx.afterCommit(() => {
      for (let i = 0; i < late; i++) this.parts.telemetry.race('close');
    });
  }

  #tellNamesake(tx: Tx, { payment, providerPaymentId }: TargetCapture, other: string): void {
    const { provider, paymentId } = payment;
    const named = { provider, providerPaymentId, paymentIds: [paymentId, other] } as const;
    tx.afterCommit(() => this.parts.telemetry.failed('record money', idGivenTwice(named)));
  }

  #alertHold(
    tx: Tx,
    kind: string,
    { payment, providerPaymentId }: TargetCapture,
    reason: string | null,
  ): void {
    const { orderId, provider, paymentId } = payment;
    const fields = { kind, orderId, provider, paymentId, providerPaymentId, reason };
    tx.afterCommit(() => this.parts.telemetry.alert('money_on_hold', fields));
  }
}

const isOf =
  ({ payment }: TargetCapture) =>
  (other: TargetCapture): boolean =>
    other.payment.provider === payment.provider && other.payment.paymentId === payment.paymentId;

const isNamesakeOf =
  ({ payment, providerPaymentId }: TargetCapture) =>
  (other: TargetCapture): boolean =>
    other.providerPaymentId === providerPaymentId &&
    other.payment.provider === payment.provider &&
    other.payment.paymentId !== payment.paymentId;

const isCaptureOf =
  ({ providerPaymentId }: Pick<TargetCapture, 'providerPaymentId'>) =>
  (recorded: RecordedPayment): boolean =>
    recorded.captured !== undefined && recorded.providerPaymentId === providerPaymentId;

const asRecorded = ({ providerPaymentId, money }: TargetCapture): RecordedPayment => ({
  providerPaymentId,
  captured: money,
});
