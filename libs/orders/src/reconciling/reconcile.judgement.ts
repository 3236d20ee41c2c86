import type { RefundStatus } from '../order/order';
import type { MovementKind } from '../money/movements';
import type { LedgerPayment } from '../providers/payment-provider';
import type { SettledAnswer } from '../money/settle-refunds';
import { parseRefundKey } from '../providers/refund-key';
import { compareDispute } from './dispute.judgement';
import { type Finding, hasMovement, type OurPayment, type OurRefund } from './reconcile-finding';

type LedgerRefund = LedgerPayment['refunds'][number];

/**
 * Compares one line of the provider's ledger with what we know of it: pure. What took money away comes before what
 * brings it: each is settled by itself, and what is there may go back to the customer at once.
 */
export function comparePayment(ours: OurPayment | undefined, theirs: LedgerPayment): Finding[] {
  if (!ours) return isOfMoney(theirs) ? [unknownPayment(theirs)] : [];
  // Taken and given back at the provider, by nobody of ours: no money of the customer is anywhere.
  if (ours.status !== 'succeeded' && isGivenBack(theirs)) return [];
  const moves = [
    ...(theirs.disputes ?? []).flatMap((dispute) => compareDispute(ours, theirs, dispute)),
    ...theirs.refunds.flatMap((refund) => compareRefund(ours, theirs, refund)),
    ...missingRefunds(ours, theirs),
  ];
  const back = moves.filter(bringsBack);
  return [...moves.filter((one) => !back.includes(one)), ...back, ...compareMoney(ours, theirs)];
}

const bringsBack = ({ fix }: Finding): boolean =>
  fix?.type === 'foreign' &&
  (fix.move.what === 'refund.failed' ||
    fix.move.what === 'dispute.won' ||
    fix.move.returned !== undefined);

/** One that nobody has paid, or that has all gone back, is nobody's money: what is paid later is told of then. */
const isOfMoney = (theirs: LedgerPayment): boolean =>
  theirs.captured !== null && goneBack(theirs) < theirs.captured.amount;

function unknownPayment(theirs: LedgerPayment): Finding {
  const { paymentId, providerPaymentId: providerId } = theirs;
  const [money, back] = [moneyText(theirs.captured), goneBack(theirs)];
  const said = { ours: null, theirs: back > 0 ? `${money}, ${back} back` : money };
  const ids = { orderId: null, refundId: null, paymentId, providerId };
  return { kind: 'theirs_only', subject: 'payment', what: 'existence', ...ids, ...said };
}

function compareMoney(ours: OurPayment, theirs: LedgerPayment): Finding[] {
  const { providerPaymentId } = theirs;
  const about = {
    kind: 'different',
    subject: 'payment',
    paymentId: ours.id,
    orderId: ours.orderId,
    refundId: null,
    providerId: providerPaymentId,
  } as const;
  if (ours.providerPaymentId !== null && ours.providerPaymentId !== providerPaymentId) {
    const said = { ours: ours.providerPaymentId, theirs: providerPaymentId };
    return [{ ...about, what: 'reference', ...said }];
  }
  const said = {
    ours: `${ours.status} ${moneyText(ours.captured)}`,
    theirs: moneyText(theirs.captured),
  };
  if (!theirs.captured) {
    const isMissing = ours.status === 'succeeded' && !ours.isNew;
    return isMissing ? [{ ...about, what: 'status', ...said }] : [];
  }
  const capture = { paymentId: ours.id, providerPaymentId, money: theirs.captured };
  const fix = { type: 'capture', orderId: ours.orderId, capture } as const;
  if (ours.status !== 'succeeded') return [{ ...about, what: 'status', ...said, fix }];
  if (moneyText(ours.captured) !== moneyText(theirs.captured)) {
    return [{ ...about, what: 'amount', ...said }];
  }
  if (ours.providerPaymentId !== null) return [];
  // Said to be paid before the provider had named it: nothing of it can go back without its name.
  return [{ ...about, what: 'reference', ours: null, theirs: providerPaymentId, fix }];
}

function compareRefund(
  payment: OurPayment,
  ledger: LedgerPayment,
  theirs: LedgerRefund,
): Finding[] {
  const { providerPaymentId } = ledger;
  const key = theirs.idempotencyKey ? parseRefundKey(theirs.idempotencyKey) : undefined;
  const ours = findRefund(payment, ledger, theirs.providerRefundId, key?.refundId);
  const theirsText = `${theirs.state.toLowerCase()} ${theirs.amount}`;
  const about = refundFinding(payment, theirs.providerRefundId);
  if (!ours) {
    const { providerRefundId: providerId, amount, state } = theirs;
    const has = (kind: MovementKind) => hasMovement(payment, kind, providerId);
    // One that failed has moved nothing, unless we took it for done.
    const isAgreed =
      state === 'FAILED'
        ? !has('foreign_refund') || has('foreign_refund_failed')
        : has('foreign_refund');
    if (isAgreed) return [];
    const said = { refundId: null, ours: null, theirs: theirsText };
    const what = state === 'FAILED' ? 'refund.failed' : 'refund.succeeded';
    const besideRefundId = payment.refunds.find(({ id }) => id === key?.refundId)?.id;
    const refund = { paymentId: payment.id, providerPaymentId, providerId, amount };
    const move = { what, ...refund, ...(besideRefundId ? { besideRefundId } : {}) } as const;
    const mayBeOurs = key === undefined && state === 'SUCCEEDED';
    const fix = state === 'PENDING' ? {} : { fix: { type: 'foreign', move, mayBeOurs } as const };
    return [{ ...about, kind: 'theirs_only', what: 'existence', ...said, ...fix }];
  }
  const said = { refundId: ours.id, ours: `${ours.status} ${ours.amount}`, theirs: theirsText };
  if (ours.amount !== theirs.amount) {
    return [{ ...about, kind: 'different', what: 'amount', ...said }];
  }
  const isTheOne = ours.providerRefundId === theirs.providerRefundId;
  // Whichever attempt it was by.
  if (isTheOne && ours.status === 'succeeded' && theirs.state === 'SUCCEEDED') return [];
  if (ours.isNew && theirs.state === 'PENDING') return [];
  const attempt = isTheOne ? ours.attempt : (key?.attempt ?? ours.attempt);
  if (attempt !== ours.attempt && theirs.state === 'FAILED') return [];
  // An earlier attempt has sent it back after all: it is owed no more, and the next one, or the one that is on its
  // way, would send it again. What that has sent already is told of as gone twice.
  const isLateTruth = theirs.state === 'SUCCEEDED' && ours.status !== 'succeeded';
  if (attempt !== ours.attempt && !isLateTruth) {
    return [{ ...about, kind: 'different', what: 'status', ...said }];
  }
  if (AGREEING[theirs.state].includes(ours.status)) return [];
  const answer = answerOf(theirs);
  return [
    {
      ...about,
      kind: 'different',
      what: 'status',
      ...said,
      ...(answer
        ? { fix: { type: 'refund', refundId: ours.id, attempt: ours.attempt, answer } as const }
        : {}),
    },
  ];
}

/**
 * The refund of ours that a line of theirs is about: by its id there, else by our key. One that another
 * line names is not this one too, nor is a line that is booked, or one beside what was sent by hand: money that went back twice is two refunds. Of one that we have
 * canceled nothing is owed: what the provider has done of it is by none of our requests.
 */
function findRefund(
  payment: OurPayment,
  ledger: LedgerPayment,
  providerRefundId: string,
  refundId: string | undefined,
): OurRefund | undefined {
  const refunds = payment.refunds.filter(({ status }) => status !== 'canceled');
  const isBooked = hasMovement(payment, 'foreign_refund', providerRefundId);
  // One whose last attempt has failed is not that line: what another attempt made may end it.
  const isNamed = ({ providerRefundId: id, status }: OurRefund): boolean =>
    ledger.refunds.some(
      (line) =>
        line.providerRefundId === id &&
        !(line.state === 'FAILED' && AGREEING.FAILED.includes(status)),
    );
  return (
    refunds.find((refund) => refund.providerRefundId === providerRefundId) ??
    refunds.find(
      (refund) => refund.id === refundId && !isNamed(refund) && !isBooked && !refund.isByHand,
    )
  );
}

/** Our statuses that say the same as the provider's. */
export const AGREEING: Readonly<Record<LedgerRefund['state'], readonly RefundStatus[]>> = {
  PENDING: ['requested', 'pending'],
  SUCCEEDED: ['succeeded'],
  FAILED: ['failed', 'needs_attention'],
};

function answerOf({ state, providerRefundId }: LedgerRefund): SettledAnswer | undefined {
  if (state === 'SUCCEEDED') return { state, providerRefundId };
  if (state === 'FAILED') return { state, providerRefundId, why: 'found when reconciling' };
  return undefined;
}

/** Refunds that the provider must know of by now, and does not. */
function missingRefunds(ours: OurPayment, theirs: LedgerPayment): Finding[] {
  const known = new Set(
    theirs.refunds.flatMap(({ idempotencyKey, providerRefundId }) => [
      providerRefundId,
      idempotencyKey ? parseRefundKey(idempotencyKey)?.refundId : undefined,
    ]),
  );
  return ours.refunds
    .filter(({ status, isNew }) => (status === 'succeeded' || status === 'pending') && !isNew)
    .filter(({ isByHand }) => !isByHand)
    .filter(({ id, providerRefundId }) => !known.has(id) && !known.has(providerRefundId ?? id))
    .map((refund) => ({
      ...refundFinding(ours, refund.providerRefundId),
      kind: 'ours_only',
      what: 'existence',
      refundId: refund.id,
      ours: `${refund.status} ${refund.amount}`,
      theirs: null,
    }));
}

function refundFinding({ id, orderId }: OurPayment, providerId: string | null) {
  return { subject: 'refund', paymentId: id, orderId, providerId } as const;
}

const isGivenBack = ({ captured, refunds }: LedgerPayment): boolean =>
  captured !== null && sumOf(refunds, 'SUCCEEDED') >= captured.amount;

const goneBack = ({ refunds, disputes = [] }: LedgerPayment): number =>
  sumOf(refunds, 'SUCCEEDED') +
  sumOf(disputes, 'LOST') -
  disputes.reduce((sum, { returned = 0 }) => sum + returned, 0);

interface Part {
  readonly state: string;
  readonly amount: number;
}

const sumOf = (parts: readonly Part[], wanted: string): number =>
  parts.reduce((sum, { state, amount }) => (state === wanted ? sum + amount : sum), 0);

function moneyText(money: { amount: number; currency: string } | null): string {
  return money ? `${money.amount} ${money.currency}` : 'nothing';
}
