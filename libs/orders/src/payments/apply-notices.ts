import { TimeoutService, type Transaction } from '@app/timeout';
import { Injectable } from '@nestjs/common';
import type { ProviderNotice } from '../providers/payment-provider';
import { CancelWishes } from '../closing/cancel-wishes';
import { findOwedRefund, findRefundByKey, isMadeBeside } from '../money/find-refund';
import { ForeignMoney, type ForeignOutcome } from '../money/foreign-money';
import { type CaptureOutcome, RecordCaptures } from '../money/record-captures';
import { answerOf, isRefundNotice, type RefundNotice } from '../money/refund-notice';
import { SettleRefunds } from '../money/settle-refunds';
import { isUuid } from '../order/uuid';
import { type EndNotice, type EndOutcome, endPayments } from './end-payments';
import { NOT_YET, type SentNotice, type WebhookOutcome } from './webhook-inbox';

type Of<T extends ProviderNotice['type']> = Extract<ProviderNotice, { type: T }>;
type DisputeNotice = Of<'dispute.opened' | 'dispute.won' | 'dispute.lost'>;

const CAPTURE_RESULTS: Record<CaptureOutcome, WebhookOutcome> = {
  pay: { status: 'processed', result: 'paid' },
  known: { status: 'processed', result: 'known' },
  revive: { status: 'processed', result: 'revived' },
  refund: { status: 'processed', result: 'refund_requested' },
  hold: { status: 'held', result: 'money_on_hold' },
  unknown_payment: { status: 'held', result: 'unknown_reference' },
  id_of_another: { status: 'held', result: 'id_of_another_payment' },
  busy: NOT_YET,
};

const END_RESULTS: Record<EndOutcome, WebhookOutcome> = {
  ended: { status: 'processed', result: 'payment_ended' },
  known: CAPTURE_RESULTS.known,
  // No money has moved: there is nothing that somebody could decide.
  unknown_payment: { status: 'processed', result: 'not_ours' },
  busy: NOT_YET,
};

const FOREIGN_RESULTS: Record<ForeignOutcome, WebhookOutcome> = {
  recorded: { status: 'processed', result: 'recorded' },
  known: { status: 'processed', result: 'known' },
  unknown_payment: { status: 'held', result: 'unknown_reference' },
  contradiction: { status: 'held', result: 'dispute_contradiction' },
  busy: NOT_YET,
};

/** The providers of payments, by payment id. None is ever changed: what was read before a transaction holds in it. */
export type PaymentOwners = ReadonlyMap<string, string>;

/** Applies the notices of webhooks to payments, orders and refunds, in sets. */
@Injectable()
export class ApplyNotices {
  constructor(
    private readonly captures: RecordCaptures,
    private readonly wishes: CancelWishes,
    private readonly refunds: SettleRefunds,
    private readonly foreign: ForeignMoney,
    private readonly timeouts: TimeoutService,
  ) {}

  /**
   * Applies each notice; answers with what became of them, in order. Applied again, one changes nothing.
   * `owners`: what the caller knows of the payments; those of others are read here.
   */
  async apply(
    tx: Transaction,
    sent: readonly SentNotice[],
    owners: PaymentOwners = new Map(),
  ): Promise<WebhookOutcome[]> {
    const notices = sent.map(({ notice }) => notice);
    const results = new Map<ProviderNotice, WebhookOutcome>();
    const strangers = await ofOtherProviders(tx, sent, owners);
    const known = notices.filter((notice) => {
      if (notice.type === 'ignored')
        results.set(notice, { status: 'processed', result: 'ignored' });
      else if (isUuid(notice.paymentId) && !strangers.has(notice)) return true;
      else
        results.set(notice, (isNegative(notice) ? END_RESULTS : CAPTURE_RESULTS).unknown_payment);
      return false;
    });
    // Money first: a negative event in the same batch must not beat it.
    await this.#capture(tx, known.filter(isSuccess), results);
    await this.#end(tx, known.filter(isNegative), results);
    await this.#refunds(tx, known.filter(isRefundNotice), results);
    for (const notice of known.filter(isDispute)) {
      const { type: what, disputeId: providerId } = notice;
      const outcome = await this.foreign.record(tx, { ...notice, what, providerId }, 'webhook');
      results.set(notice, FOREIGN_RESULTS[outcome]);
    }
    return notices.map((notice) => results.get(notice) as WebhookOutcome);
  }

  async #capture(
    tx: Transaction,
    notices: readonly Of<'payment.succeeded'>[],
    results: Map<ProviderNotice, WebhookOutcome>,
  ): Promise<void> {
    const outcomes = await this.captures.record(tx, notices, 'webhook');
    const paymentIds = notices.map(({ paymentId }) => paymentId);
    await this.wishes.carryOut(tx, paymentIds, outcomes);
    notices.forEach((notice, index) => {
      results.set(notice, CAPTURE_RESULTS[outcomes[index] as CaptureOutcome]);
    });
  }

  async #end(
    tx: Transaction,
    notices: readonly EndNotice[],
    results: Map<ProviderNotice, WebhookOutcome>,
  ): Promise<void> {
    const outcomes = await endPayments(tx, this.timeouts, notices);
    notices.forEach((notice, index) => {
      results.set(notice, END_RESULTS[outcomes[index] as EndOutcome]);
    });
  }

  async #refunds(
    tx: Transaction,
    notices: readonly RefundNotice[],
    results: Map<ProviderNotice, WebhookOutcome>,
  ): Promise<void> {
    for (const notice of notices) results.set(notice, await this.#refund(tx, notice));
    // What was told of an attempt before another one of these has ended its refund is in no inbox yet that is heard
    // again (hear-again.ts).
    for (const notice of notices) {
      const isAlone = notices.every((one) => one === notice || one.paymentId !== notice.paymentId);
      if (isAlone || notice.type !== 'refund.succeeded') continue;
      const outcome = await this.#madeBeside(tx, notice);
      if (outcome && outcome !== FOREIGN_RESULTS.known) results.set(notice, outcome);
    }
  }

  /** Undefined of what is no attempt beside the one by which its refund is over. */
  async #madeBeside(tx: Transaction, notice: RefundNotice): Promise<WebhookOutcome | undefined> {
    const { idempotencyKey } = notice;
    const target = idempotencyKey ? await findRefundByKey(tx, idempotencyKey) : undefined;
    if (typeof target !== 'object') return undefined;
    if (!(await isMadeBeside(tx, target, { ...notice, hasSucceeded: true }))) return undefined;
    return this.#foreignRefund(tx, notice, target.refundId);
  }

  /** Made in the provider's dashboard, by none of our requests; or beside the attempt by which ours is over. */
  async #foreignRefund(
    tx: Transaction,
    notice: RefundNotice,
    besideRefundId?: string,
  ): Promise<WebhookOutcome> {
    const { type: what, providerRefundId: providerId } = notice;
    // Without an id it could not be told from the next one.
    if (!providerId) return { status: 'held', result: 'unknown_refund' };
    const move = { ...notice, what, providerId, besideRefundId };
    return FOREIGN_RESULTS[await this.foreign.record(tx, move, 'webhook')];
  }

  async #refund(tx: Transaction, notice: RefundNotice): Promise<WebhookOutcome> {
    const { idempotencyKey } = notice;
    const hasSucceeded = notice.type === 'refund.succeeded';
    const target = idempotencyKey
      ? await findRefundByKey(tx, idempotencyKey)
      : await findOwedRefund(tx, { ...notice, hasSucceeded });
    if (target === 'busy') return NOT_YET;
    if (!target) return this.#foreignRefund(tx, notice);
    const { refundId, attempt } = target;
    if (await isMadeBeside(tx, target, { ...notice, hasSucceeded })) {
      return this.#foreignRefund(tx, notice, refundId);
    }
    const answer = answerOf(notice);
    const changed = await this.refunds.settle(tx, refundId, attempt, answer, 'webhook');
    if (changed === 'busy') return NOT_YET;
    return { status: 'processed', result: changed ? notice.type.replace('.', '_') : 'known' };
  }
}

const isDispute = (notice: ProviderNotice): notice is DisputeNotice =>
  notice.type === 'dispute.opened' ||
  notice.type === 'dispute.won' ||
  notice.type === 'dispute.lost';

/** Notices of a provider about a payment of another one: whoever sends them cannot know of it. */
async function ofOtherProviders(
  tx: Transaction,
  sent: readonly SentNotice[],
  known: PaymentOwners,
): Promise<Set<ProviderNotice>> {
  const said = sent.flatMap(({ provider, notice }) =>
    'paymentId' in notice && isUuid(notice.paymentId) ? [{ provider, notice }] : [],
  );
  const asked = said.flatMap(({ notice }) =>
    known.has(notice.paymentId) ? [] : [notice.paymentId],
  );
  const read = asked.length > 0 ? await readOwners(tx, asked) : known;
  const isStranger = ({ provider, notice }: (typeof said)[number]): boolean => {
    const owner = known.get(notice.paymentId) ?? read.get(notice.paymentId);
    return owner !== undefined && owner !== provider;
  };
  return new Set(said.filter(isStranger).map(({ notice }) => notice));
}

async function readOwners(tx: Transaction, paymentIds: readonly string[]): Promise<PaymentOwners> {
  const rows = await tx.hot<{ id: string; provider: string }>(
    'SELECT id, provider FROM payments WHERE id = ANY ($1::uuid[])',
    [paymentIds],
  );
  return new Map(rows.map((row) => [row.id, row.provider]));
}

const isSuccess = (notice: ProviderNotice): notice is Of<'payment.succeeded'> =>
  notice.type === 'payment.succeeded';
const isNegative = (notice: ProviderNotice): notice is EndNotice =>
  notice.type === 'payment.failed' || notice.type === 'payment.closed';
