/** What `@lastcall/orders/testing` offers: the contracts that a provider, and a close target, of your own have to keep. */
export {
  describeProvider,
  type ProviderUnderTest,
  type SentWebhook,
  type TestFramework,
} from './providers/provider.contract';
export {
  type CloseTargetFramework,
  type CloseTargetUnderTest,
  describeCloseTarget,
} from './targets/close-target.contract';
