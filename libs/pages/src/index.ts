export { type CheckoutState, checkoutStateOf, type ShownOrder } from './checkout-state';
export { Countdown } from './countdown';
export { announcedAt, clockText } from './time-left';
