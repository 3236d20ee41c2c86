import type { ForeignMove } from '../money/foreign-money';
import type { MovementKind } from '../money/movements';
import type { LedgerPayment } from '../providers/payment-provider';
import { type Finding, hasMovement, type OurPayment } from './reconcile-finding';

type LedgerDispute = NonNullable<LedgerPayment['disputes']>[number];

const DISPUTES = {
  OPEN: { what: 'dispute.opened', kind: 'disputed' },
  WON: { what: 'dispute.won', kind: 'dispute_won' },
  LOST: { what: 'dispute.lost', kind: 'dispute_lost' },
} as const satisfies Record<string, { what: ForeignMove['what']; kind: MovementKind }>;

/** Compares a dispute of the provider's ledger with what we know of it: pure. */
export function compareDispute(
  payment: OurPayment,
  { providerPaymentId }: LedgerPayment,
  { disputeId: providerId, amount, state, returned = 0 }: LedgerDispute,
): Finding[] {
  const { what, kind } = DISPUTES[state];
  const hasEnded = hasMovement(payment, kind, providerId);
  const isAllTold = returned === 0 || hasMovement(payment, 'dispute_returned', providerId);
  if (hasEnded && isAllTold) return [];
  const isKnown = hasMovement(payment, 'disputed', providerId);
  const back = returned > 0 ? { returned } : {};
  const move = { what, paymentId: payment.id, providerPaymentId, providerId, amount, ...back };
  const said = `${state.toLowerCase()} ${amount}`;
  const ours = hasEnded ? said : `open or decided otherwise ${amount}`;
  return [
    {
      kind: isKnown ? 'different' : 'theirs_only',
      subject: 'dispute',
      what: isKnown ? 'status' : 'existence',
      paymentId: payment.id,
      orderId: payment.orderId,
      refundId: null,
      providerId,
      ours: isKnown ? ours : null,
      theirs: returned > 0 ? `${said}, ${returned} back` : said,
      fix: { type: 'foreign', move },
    },
  ];
}
