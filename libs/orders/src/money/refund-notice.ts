import type { ProviderNotice } from '../providers/payment-provider';
import type { SettledAnswer } from './settle-refunds';

export type RefundNotice = Extract<ProviderNotice, { type: 'refund.succeeded' | 'refund.failed' }>;

export const isRefundNotice = (notice: ProviderNotice): notice is RefundNotice =>
  notice.type === 'refund.succeeded' || notice.type === 'refund.failed';

/** What a webhook tells of a refund, as if its provider had answered it. */
export function answerOf({ type, providerRefundId, why }: RefundNotice): SettledAnswer {
  if (type === 'refund.succeeded') {
    return { state: 'SUCCEEDED', providerRefundId: providerRefundId ?? '' };
  }
  return { state: 'FAILED', providerRefundId, why: why ?? 'the provider gave no reason' };
}
