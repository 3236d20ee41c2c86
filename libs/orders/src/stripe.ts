/** What `@lastcall/orders/stripe` offers. It needs the package `stripe`. */
export { StripeProvider, type StripeProviderOptions } from './providers/stripe/stripe.provider';
