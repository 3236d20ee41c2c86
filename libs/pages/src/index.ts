export { type CheckoutState, checkoutStateOf, type ShownOrder } from './checkout-state';
export { moneyText } from './money';
export { announcedAt, clockText } from './time-left';
