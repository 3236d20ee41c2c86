/** What `@lastcall/orders/testing` offers: the contract that a provider of your own has to keep. */
export {
  describeProvider,
  type ProviderUnderTest,
  type SentWebhook,
  type TestFramework,
} from './providers/provider.contract';
