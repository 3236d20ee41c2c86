import { type ForeignMove, secondRefOf } from '../money/foreign-money';
import type { MovementKind } from '../money/movements';
import type { LedgerPayment } from '../providers/payment-provider';
import { type Finding, hasMovement, type OurPayment } from './reconcile-finding';

type LedgerDispute = NonNullable<LedgerPayment['disputes']>[number];

const MOVES = {
  OPEN: 'dispute.opened',
  WON: 'dispute.won',
  LOST: 'dispute.lost',
} as const satisfies Record<LedgerDispute['state'], ForeignMove['what']>;

/** Compares a dispute of the provider's ledger with what we know of it: pure. */
export function compareDispute(
  payment: OurPayment,
  { providerPaymentId }: LedgerPayment,
  { disputeId: providerId, amount, state, returned = 0 }: LedgerDispute,
): Finding[] {
  const what = MOVES[state];
  const { hasEnded, isAllTold } = toldOf(payment, { disputeId: providerId, state, returned });
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

/** Also of one that was decided otherwise than before: by a second end, or by the return of what had been lost. */
function toldOf(
  payment: OurPayment,
  { disputeId, state, returned }: Pick<Required<LedgerDispute>, 'disputeId' | 'state' | 'returned'>,
): { readonly hasEnded: boolean; readonly isAllTold: boolean } {
  const has = (kind: MovementKind, ref = disputeId): boolean => hasMovement(payment, kind, ref);
  const again = secondRefOf(disputeId);
  const [isLostAfterAll, isBackAfterAll] = [
    has('dispute_won') && has('dispute_lost', again),
    has('dispute_lost') && has('dispute_returned', again),
  ];
  if (state === 'LOST') {
    const hasEnded = isLostAfterAll || (has('dispute_lost') && !isBackAfterAll);
    const ref = isLostAfterAll ? again : disputeId;
    return { hasEnded, isAllTold: returned === 0 || has('dispute_returned', ref) };
  }
  const isWon = isBackAfterAll || (has('dispute_won') && !isLostAfterAll);
  return { hasEnded: state === 'OPEN' ? has('disputed') : isWon, isAllTold: true };
}
