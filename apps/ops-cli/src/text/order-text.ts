import type { OrderView } from '@app/orders';
import { durationText } from './wording';

/** What of the order's payment deadline matters now: how far off, how overdue, how late. */
export function dueText({ status, closesAt, closedAt, closeReason, serverNow }: OrderView): string {
  if (!closesAt) return '-';
  if (status === 'pending_payment' || status === 'closing') {
    const leftMs = Date.parse(closesAt) - Date.parse(serverNow);
    return leftMs >= 0 ? `in ${durationText(leftMs)}` : `overdue by ${durationText(-leftMs)}`;
  }
  if (closedAt && closeReason === 'payment_timeout') {
    return `closed ${durationText(Date.parse(closedAt) - Date.parse(closesAt))} after it`;
  }
  return '-';
}
