/** What `@lastcall/orders/targets` offers: closing the orders of a table of the shop's own. */
export {
  type ClosesOrders,
  CloseTarget,
  type CloseTargetOptions,
  type OpenOrder,
  type PaidOrder,
  type TargetPayment,
} from './targets/close-target';
export {
  CloseTargetModule,
  type CloseTargetModuleAsyncOptions,
  type CloseTargetModuleOptions,
  migrateCloseTargets,
} from './targets/close-target.module';
export { CloseTargets, type TargetOrderRef } from './targets/close-targets';
export type { HeldMoney, HeldRef } from './targets/target-payments';
export { ERROR_STATUS, type ErrorCode, LastcallError } from './order/errors';
export type {
  CapturedMoney,
  CreateAnswer,
  PaymentProvider,
  PaymentRef,
  ProviderAnswer,
  ProviderNotice,
  RefundAnswer,
} from './providers/payment-provider';
