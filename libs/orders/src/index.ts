export { isInfrastructureError } from '@app/timeout';
export { CancelOrder } from './cancel-order';
export { changeStatus } from './change-status';
export { CONFIG, type Config, ConfigError, loadConfig, SETTING_NAMES } from './config';
export { ConfirmReceipt } from './confirm-receipt';
export { createDataSource, dataSourceOptions } from './data-source';
export { parseDuration } from './duration';
export { ERROR_STATUS, type ErrorCode, LastcallError } from './errors';
export { ExtendWindow, MAX_EXTENSION_MS } from './extend-window';
export { ForceCloseOrder } from './force-close-order';
export { Gauges, type GaugesView } from './gauges';
export { GroupCommit } from './group-commit';
export {
  INVARIANTS,
  type InvariantOptions,
  type InvariantResult,
  runInvariants,
} from './invariants/run-invariants';
export { type InvariantReading, WatchInvariants } from './invariants/watch-invariants';
export type {
  OrderItem,
  OrderView,
  PaymentStatus,
  PaymentView,
  RefundReason,
  RefundStatus,
  RefundView,
} from './order';
export type { Check } from './ops/doctor/check';
export { examineDependencies } from './ops/doctor/examine-dependencies';
export { ExamineInstallation } from './ops/doctor/examine-installation';
export {
  type ClosableFilter,
  type ClosePlan,
  type CloseResult,
  ForceCloseOrders,
} from './ops/force-close-orders';
export {
  type HeldPayment,
  ListHeldPayments,
  type SettledPayment,
  SettlePayment,
} from './ops/held-payments';
export type { Accountable } from './ops/operator-action';
export { OpsModule } from './ops/ops.module';
export { OrderDetails, type OrderDetailsView } from './ops/order-details';
export { ListRefunds, type RefundEntry, RetryRefund } from './ops/refunds';
export { ReleaseDeadlines } from './ops/release-deadlines';
export { Statistics, type StatisticsView } from './ops/statistics';
export {
  type DeadlineFindings,
  type DeadlinesReport,
  VerifyDeadlines,
} from './ops/verify-deadlines';
export { ListWebhooks, ReplayWebhook, WEBHOOK_STATUSES, type WebhookEntry } from './ops/webhooks';
export { type BrakeView, TimeoutBrake } from './ops/timeout-brake';
export { OrderFeed, type OrderEventView, readHistory } from './order-feed';
export { OrderGuard, orderNotFound } from './order-guard';
export {
  type By,
  type CloseReason,
  DEADLINE_KINDS,
  ORDER_STATUSES,
  type OrderStatus,
  TRANSITIONS,
} from './order.lifecycle';
export { onDataSource, type OrderFilter, type Queryable } from './order-rows';
export {
  OPEN_ALARM_QUEUE,
  type OpenAlarmQueue,
  OrdersModule,
  type OrdersModuleOptions,
} from './orders.module';
export { Overview, type OverviewView } from './overview';
export { PlaceOrder } from './place-order';
export { ListProducts, type ProductView } from './products';
export {
  PAYMENT_PROVIDER,
  type PaymentProvider,
  type ProviderAnswer,
} from './providers/payment-provider';
export { ListOrders, ReadOrder } from './read-order';
export { ReceiveWebhook } from './receive-webhook';
export { type Difference, Reconcile, type ReconcileCounts } from './reconcile';
export { RelayEvents } from './relay-events';
export { SettleClosing } from './settle-closing';
export { seedProducts } from './seed-products';
export { ShipOrder } from './ship-order';
export { StartPayment } from './start-payment';
export { ORDERS_TELEMETRY, type OrdersTelemetry, type WebhookResult } from './telemetry';
