import { randomUUID } from 'node:crypto';
import type { PaymentProvider, ProviderAnswer } from '@app/orders';

type RefundCall = Parameters<PaymentProvider['refund']>[0];
type RefundAnswer = Awaited<ReturnType<PaymentProvider['refund']>>;
type LedgerLine = (ReturnType<PaymentProvider['ledger']> extends AsyncIterable<infer Page>
  ? Page
  : never)['payments'][number];
type Money = Extract<ProviderAnswer, { state: 'PAID' }>['money'];

export interface Refund {
  readonly id: string;
  readonly amount: number;
  /** Ours; null for one that was made in the dashboard. */
  readonly key: string | null;
  /** By default it has gone back; FAILED once it has come back: the buyer's account is closed. */
  state?: 'PENDING' | 'FAILED';
}

export interface Dispute {
  readonly id: string;
  readonly amount: number;
  state: 'opened' | 'won' | 'lost';
}

/** What a provider knows of one payment. */
export interface LedgerEntry {
  readonly id: string;
  /** Our payment's id. */
  readonly reference: string;
  readonly amount: number;
  readonly currency: string;
  status: 'open' | 'paid' | 'closed' | 'failed';
  money: Money | undefined;
  readonly refunds: Refund[];
  readonly disputes: Dispute[];
}

export function refundedOf({ refunds }: LedgerEntry): number {
  return refunds.reduce((sum, { amount, state }) => sum + (state === 'FAILED' ? 0 : amount), 0);
}

/** Taken by disputes that are open or lost. */
export function disputedOf({ disputes }: LedgerEntry): number {
  return disputes
    .filter(({ state }) => state !== 'won')
    .reduce((sum, { amount }) => sum + amount, 0);
}

function leftOf(entry: LedgerEntry): number {
  return (entry.money?.amount ?? 0) - refundedOf(entry) - disputedOf(entry);
}

/** Why a refund has failed that had succeeded. */
export const CAME_BACK = 'the account is closed';

/** One key, one refund. */
export function refundOnce(
  entry: LedgerEntry,
  { amount, idempotencyKey: key }: RefundCall,
): RefundAnswer {
  const known = entry.refunds.find((refund) => refund.key === key);
  if (known?.state === 'FAILED')
    return { state: 'FAILED', providerRefundId: known.id, why: CAME_BACK };
  if (known) return { state: 'SUCCEEDED', providerRefundId: known.id };
  if (!entry.money) return { state: 'FAILED', providerRefundId: null, why: 'not paid' };
  const isTakenByOthers =
    entry.disputes.length > 0 || entry.refunds.some((refund) => refund.key === null);
  if (isTakenByOthers && amount > leftOf(entry)) {
    return { state: 'FAILED', providerRefundId: null, why: 'not so much is left' };
  }
  // A real provider refuses to give back more than it took; this one remembers it as a fault.
  const refund = { id: `refund-${randomUUID()}`, amount, key };
  entry.refunds.push(refund);
  return { state: 'SUCCEEDED', providerRefundId: refund.id };
}

export function refundByHand(entry: LedgerEntry, amount: number): Refund | undefined {
  if (amount === 0 || amount > leftOf(entry)) return undefined;
  const refund = { id: `refund-${randomUUID()}`, amount, key: null };
  entry.refunds.push(refund);
  return refund;
}

export function disputeOf(entry: LedgerEntry): Dispute | undefined {
  const amount = leftOf(entry);
  if (amount <= 0) return undefined;
  const dispute: Dispute = { id: `dispute-${randomUUID()}`, amount, state: 'opened' };
  entry.disputes.push(dispute);
  return dispute;
}

export function stateOf(entry: LedgerEntry): ProviderAnswer {
  const { id: providerPaymentId, status, money } = entry;
  if (status === 'open') return { state: 'UNPAID', providerPaymentId };
  if (status !== 'paid' || !money) return { state: 'CLOSED_UNPAID', providerPaymentId };
  const isRefunded = refundedOf(entry) >= money.amount;
  return { state: isRefunded ? 'REFUNDED' : 'PAID', providerPaymentId, money };
}

const LEDGER_STATES = { opened: 'OPEN', won: 'WON', lost: 'LOST' } as const;

export function lineOf({ id, reference, money, refunds, disputes }: LedgerEntry): LedgerLine {
  return {
    providerPaymentId: id,
    paymentId: reference,
    captured: money ?? null,
    refunds: refunds.map(({ id, key, amount, state }) => ({
      ...{ providerRefundId: id, idempotencyKey: key, amount, state: state ?? 'SUCCEEDED' },
    })),
    disputes: disputes.map(({ id: disputeId, amount, state }) => ({
      disputeId,
      amount,
      state: LEDGER_STATES[state],
    })),
  };
}
