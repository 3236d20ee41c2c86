import { paint } from './paint';

const PAINTS: Readonly<Record<string, (text: string) => string>> = {
  ...of(paint.good, ['paid', 'shipped', 'completed', 'succeeded', 'processed']),
  ...of(paint.notable, ['pending_payment', 'closing', 'open', 'requested', 'pending', 'received']),
  ...of(paint.bad, ['failed', 'needs_attention', 'held']),
  ...of(paint.faint, ['closed', 'canceled']),
};

function of(painted: (text: string) => string, statuses: readonly string[]) {
  return Object.fromEntries(statuses.map((status) => [status, painted]));
}

/** The status of an order, a payment, a refund or a webhook, coloured by what it means. */
export function statusText(status: string): string {
  return PAINTS[status]?.(status) ?? status;
}
