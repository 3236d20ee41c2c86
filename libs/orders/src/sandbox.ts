/** What `@lastcall/orders/sandbox` offers: the provider that a shop is tried out with. */
export { SandboxProvider, type SandboxProviderOptions } from './providers/sandbox/sandbox.provider';
