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
  type CloseTargetsGiven,
  migrateCloseTargets,
} from './targets/close-target.module';
export type { CloseTargetModuleOptions } from './targets/target-options';
export { CloseTargets, type TargetOrderRef } from './targets/close-targets';
export type { TargetVerdict } from './targets/target-desk';
export type { TargetExit, TargetWait, TargetWaitName } from './targets/target-waits';
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
