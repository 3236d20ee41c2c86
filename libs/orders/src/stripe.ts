/** What `@lastcall/orders/stripe` offers. It needs the package `stripe`. */
export { StripeProvider } from './providers/stripe/stripe.provider';
