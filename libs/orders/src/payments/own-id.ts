import type { ProviderNotice } from '../providers/payment-provider';
import { isUuid } from '../order/uuid';

/** The notice with its payment's id as we write it: Postgres finds it in capitals too, and nobody else does. */
export function withOwnId(notice: ProviderNotice): ProviderNotice {
  if (!('paymentId' in notice) || !isUuid(notice.paymentId)) return notice;
  return { ...notice, paymentId: notice.paymentId.toLowerCase() };
}
