import type { OrderView } from '@app/orders';
import { checkoutStateOf, moneyText } from '@app/pages';
import { escapeHtml } from './document';
import type { Messages } from './web-assets';

/** The page without JavaScript: the state as it is now, what is to be paid, and how. */
export function checkoutContent(order: OrderView, messages: Messages, language: string): string {
  const say = (key: string): string => escapeHtml(messages[key] ?? key);
  const msLeft = order.payBy === null ? 0 : Date.parse(order.payBy) - Date.parse(order.serverNow);
  const state = checkoutStateOf(order, msLeft);
  const money = (amount: number): string => escapeHtml(moneyText(amount, order.currency, language));
  const lines = order.items
    .map(
      ({ sku, quantity, unitPrice }) =>
        `<li><span>${quantity} × ${escapeHtml(sku)}</span><span>${money(quantity * unitPrice)}</span></li>`,
    )
    .join('');
  const canPay = state === 'waiting' || state === 'paying';
  const until =
    canPay && order.payBy !== null
      ? `<p>${say('payBy')} <time datetime="${order.payBy}">${escapeHtml(
          new Intl.DateTimeFormat(language, { timeStyle: 'medium', timeZone: 'UTC' }).format(
            new Date(order.payBy),
          ),
        )} UTC</time></p>`
      : '';
  return (
    `<main class="state-${state}"><h1>${say(`state.${state}`)}</h1><p>${say(`about.${state}`)}</p>` +
    `${until}<ul>${lines}</ul><p class="total"><span>${say('total')}</span>` +
    `<strong>${money(order.amount)}</strong></p>` +
    (canPay ? `<a class="button" href="/checkout/${order.id}/pay">${say('pay')}</a>` : '') +
    '</main>'
  );
}
