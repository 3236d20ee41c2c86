import { backoffMs, type Due, failpoint, type Tx } from '@app/timeout';
import type { HostTx } from '@app/timeout/module';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { answerOf, isRefundNotice } from '../money/refund-notice';
import { parseRefundKey } from '../providers/refund-key';
import { orRefusal } from '../order/database-refusal';
import type { WebhookResult } from '../order/telemetry';
import { NoticeGroups } from '../payments/notice-groups';
import type { WebhookHeaders } from '../payments/read-notice';
import type { ProviderNotice } from '../providers/payment-provider';
import type { TargetPayment } from './close-target';
import { TargetInbox, type WaitingWebhook } from './target-inbox';
import { TargetMoney, type TargetOutcome } from './target-money';
import { kindsOf, type Owner, ownersOf } from './target-owners';
import {
  armIn,
  askingKind,
  BUSY_AGAIN_MS,
  TARGET_PARTS,
  type TargetParts,
  WEBHOOK_KIND,
} from './target-parts';
import { TargetRefunds } from './target-refunds';

/** What is told of a payment before the shop has committed it: about four minutes of looking again. */
const MAX_UNKNOWN = 8;

type Outcome =
  | { readonly status: 'processed' | 'held'; readonly result: string }
  /** Nothing was done: it has to be looked at again. */
  | { readonly status: 'later'; readonly inMs: number };

const OF_CAPTURES: Record<TargetOutcome, Outcome> = {
  pay: { status: 'processed', result: 'paid' },
  known: { status: 'processed', result: 'known' },
  refund: { status: 'processed', result: 'refund_requested' },
  hold: { status: 'held', result: 'money_on_hold' },
  id_of_another: { status: 'held', result: 'id_of_another_payment' },
  busy: { status: 'later', inMs: BUSY_AGAIN_MS },
};

/**
 * Takes providers' webhooks about a shop's own payments: verified on the raw bytes, stored with a
 * deadline that is due at once, and applied by that, in sets, by whoever rings.
 */
@Injectable()
export class TargetWebhooks implements OnApplicationShutdown {
  readonly #groups: NoticeGroups;
  readonly #inbox: TargetInbox;

  constructor(
    @Inject(TARGET_PARTS) private readonly parts: TargetParts,
    private readonly money: TargetMoney,
    private readonly refunds: TargetRefunds,
  ) {
    this.#inbox = new TargetInbox(parts.runtime.schema);
    const { providers, telemetry, runtime } = parts;
    this.#groups = new NoticeGroups(
      { providers, telemetry, clock: runtime.clock, orRefusal },
      (provider, notices) => this.#store(provider, notices),
    );
  }

  /**
   * Resolves when the webhook is stored: answer 2xx then, and only then.
   * @throws {LastcallError} unknown_provider, bad_signature, stale_timestamp, invalid_request, busy, unavailable
   */
  receive(provider: string, rawBody: Buffer, headers: WebhookHeaders): Promise<void> {
    return this.#groups.receive(provider, rawBody, headers);
  }

  async handle(due: readonly Due[], tx: HostTx): Promise<{ changed: number }> {
    const ids = due.map(({ subjectId }) => subjectId);
    const stored = await this.#inbox.take(tx, ids);
    const outcomes = await this.#apply(tx, stored);
    const settled = stored.flatMap(({ webhookId }) => {
      const outcome = outcomes.get(webhookId);
      return !outcome || outcome.status === 'later' ? [] : [{ webhookId, ...outcome }];
    });
    await this.#inbox.settle(tx, settled);
    const delays = [...outcomes].flatMap(([subjectId, outcome]) =>
      outcome.status === 'later' ? [{ subjectId, inMs: outcome.inMs }] : [],
    );
    await armIn(this.parts, tx, WEBHOOK_KIND, delays);
    await failpoint('target.webhooks_applied');
    return { changed: settled.length };
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#groups.drained();
  }

  #store(provider: string, notices: readonly ProviderNotice[]): Promise<WebhookResult[]> {
    return this.parts.runtime.inHostTransaction(async (tx) => {
      const fresh = await this.#inbox.store(tx, provider, notices);
      const delays = [...fresh.values()].map((subjectId) => ({ subjectId, inMs: 0 }));
      await armIn(this.parts, tx, WEBHOOK_KIND, delays);
      await failpoint('target.webhooks_stored');
      return notices.map(({ eventId }) => (fresh.has(eventId) ? 'deferred' : 'duplicate'));
    });
  }

  async #apply(tx: HostTx, stored: readonly WaitingWebhook[]): Promise<Map<string, Outcome>> {
    const outcomes = new Map<string, Outcome>();
    const aboutPayments: WaitingWebhook[] = [];
    for (const one of stored) {
      const { type } = one.notice;
      if (type.startsWith('payment.')) aboutPayments.push(one);
      else outcomes.set(one.webhookId, await this.#applyOther(tx, one));
    }
    const owned = await ownersOf(this.parts, tx, aboutPayments);
    for (const { webhook, owners } of owned) {
      if (owners.length === 0) outcomes.set(webhook.webhookId, this.#ofNobody(tx, webhook));
      if (owners.length > 1) outcomes.set(webhook.webhookId, this.#ofMany(tx, webhook, owners));
    }
    for (const kind of kindsOf(this.parts)) {
      const mine = owned.flatMap(({ webhook, owners: [owner, ...others] }) =>
        owner?.kind === kind && others.length === 0 ? [{ ...webhook, payment: owner.payment }] : [],
      );
      await this.#applyTo(tx, kind, mine, outcomes);
    }
    return outcomes;
  }

  /** Applies what is about payments of this target's. */
  async #applyTo(
    tx: Tx,
    kind: string,
    mine: readonly (WaitingWebhook & { readonly payment: TargetPayment })[],
    outcomes: Map<string, Outcome>,
  ): Promise<void> {
    const captures = mine.flatMap(({ webhookId, notice, payment }) =>
      notice.type === 'payment.succeeded'
        ? [{ webhookId, payment, providerPaymentId: notice.providerPaymentId, money: notice.money }]
        : [],
    );
    const recorded = await this.money.record(tx, kind, captures);
    captures.forEach(
      ({ webhookId, payment: { provider, paymentId }, providerPaymentId }, index) => {
        const outcome = recorded[index] as TargetOutcome;
        outcomes.set(webhookId, OF_CAPTURES[outcome]);
        if (outcome !== 'id_of_another') return;
        const fields = { provider, paymentId, providerPaymentId };
        tx.afterCommit(() => this.parts.telemetry.alert('id_of_another_payment', fields));
      },
    );
    const others = mine.filter(({ notice }) => notice.type !== 'payment.succeeded');
    const orderIds = others.map(({ payment }) => payment.orderId);
    const busy = await this.#askAgain(tx, kind, orderIds);
    for (const { webhookId, payment } of others) {
      const isBusy = busy.includes(payment.orderId);
      outcomes.set(webhookId, isBusy ? OF_CAPTURES.busy : { status: 'processed', result: 'noted' });
    }
  }

  /**
   * A payment has failed or ended: what waits for that behind the fence need wait no longer. Answers with those
   * that somebody has: a batch that waited for one, after it has locked what its captures are for, might be
   * waited for by another in turn.
   */
  async #askAgain(tx: Tx, kind: string, orderIds: readonly string[]): Promise<readonly string[]> {
    const { fenced, busy } = await this.parts.orders.lockFenced(tx, kind, [...new Set(orderIds)]);
    const delays = fenced.sort().map((subjectId) => ({ subjectId, inMs: 0 }));
    await armIn(this.parts, tx, askingKind(kind), delays);
    return busy;
  }

  async #applyOther(tx: Tx, { provider, notice }: WaitingWebhook): Promise<Outcome> {
    if (notice.type === 'ignored') return { status: 'processed', result: 'ignored' };
    if (isRefundNotice(notice)) {
      const key =
        notice.idempotencyKey === null ? undefined : parseRefundKey(notice.idempotencyKey);
      const answer = answerOf(notice);
      const isOurs = key && (await this.refunds.settle(tx, key.refundId, key.attempt, answer));
      if (isOurs) return { status: 'processed', result: 'refund' };
    }
    // Made in the provider's dashboard, or by the buyer's bank: the shop's own books have to know.
    const { type, eventId } = notice;
    tx.afterCommit(() =>
      this.parts.telemetry.alert('money_moved_elsewhere', { provider, type, eventId }),
    );
    return { status: 'processed', result: 'not_ours' };
  }

  /** What a provider knows a payment by names one of one target: whose money it is, nobody can tell. */
  #ofMany(tx: Tx, { provider, notice }: WaitingWebhook, owners: readonly Owner[]): Outcome {
    const paymentId = 'paymentId' in notice ? notice.paymentId : null;
    const fields = { provider, paymentId, kinds: owners.map(({ kind }) => kind) };
    tx.afterCommit(() => this.parts.telemetry.alert('payment_of_many', fields));
    return { status: 'held', result: 'reference_of_many' };
  }

  #ofNobody(tx: Tx, { provider, notice, attempt }: WaitingWebhook): Outcome {
    if (attempt < MAX_UNKNOWN) return { status: 'later', inMs: backoffMs(attempt) };
    if (notice.type !== 'payment.succeeded') return { status: 'processed', result: 'not_ours' };
    const { paymentId, providerPaymentId } = notice;
    const fields = { provider, paymentId, providerPaymentId };
    tx.afterCommit(() => this.parts.telemetry.alert('money_of_nobody', fields));
    return { status: 'held', result: 'unknown_reference' };
  }
}
