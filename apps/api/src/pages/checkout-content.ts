import type { OrderView } from '@app/orders';
import { type CheckoutState, checkoutStateOf, moneyText } from '@app/pages';
import { escapeHtml } from './document';
import type { Messages } from './web-assets';

/** False once there is nothing to pay any more, or no time left to begin with it. */
export function canPay(order: OrderView): boolean {
  return ['waiting', 'paying'].includes(stateOf(order));
}

/** The page without JavaScript: the state as it is now, what is to be paid, and how. */
export function checkoutContent(
  order: OrderView,
  messages: Messages,
  language: string,
  hasFailed: boolean,
): string {
  const say = (key: string): string => escapeHtml(messages[key] ?? key);
  const state = stateOf(order);
  const money = (amount: number): string => escapeHtml(moneyText(amount, order.currency, language));
  const lines = order.items
    .map(
      ({ sku, quantity, unitPrice }) =>
        `<li><span>${quantity} × ${escapeHtml(sku)}</span><span>${money(quantity * unitPrice)}</span></li>`,
    )
    .join('');
  const until =
    canPay(order) && order.payBy !== null
      ? `<p>${say('payBy')} <time datetime="${order.payBy}">${escapeHtml(
          instantText(order.payBy, order.serverNow, language),
        )} UTC</time></p>`
      : '';
  return (
    `<main class="state-${state}"><h1>${say(`state.${state}`)}</h1><p>${say(`about.${state}`)}</p>` +
    `${until}<ul>${lines}</ul><p class="total"><span>${say('total')}</span>` +
    `<strong>${money(order.amount)}</strong></p>` +
    (canPay(order)
      ? `<a class="button" href="/checkout/${order.id}/pay">${say(state === 'paying' ? 'payOn' : 'pay')}</a>`
      : '') +
    (hasFailed ? `<p role="alert">${say('failed')}</p>` : '') +
    '</main>'
  );
}

/** With its day, unless that is today: a payment window may be days long, or pass midnight. */
function instantText(at: string, now: string, language: string): string {
  const [day, today] = [at, now].map((instant) => instant.slice(0, 'yyyy-mm-dd'.length));
  const format = new Intl.DateTimeFormat(language, {
    ...(day === today ? {} : { dateStyle: 'medium' }),
    ...{ timeStyle: 'medium', timeZone: 'UTC' },
  });
  return format.format(new Date(at));
}

function stateOf(order: OrderView): CheckoutState {
  const msLeft = order.payBy === null ? 0 : Date.parse(order.payBy) - Date.parse(order.serverNow);
  return checkoutStateOf(order, msLeft);
}
