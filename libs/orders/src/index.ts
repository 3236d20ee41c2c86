export { isInfrastructureError } from '@app/timeout';
export { CancelOrder } from './closing/cancel-order';
export { CancelOrderByOperator, type CanceledOrder } from './ops/cancel-order-by-operator';
export { type CreatedRefund, CreateRefund, type RefundCommand } from './ops/create-refund';
export { SettleOrder, type SettledOrder, type SettleOrderCommand } from './ops/settle-order';
export {
  type Config,
  ConfigError,
  loadConfig,
  loadConfigFor,
  loadConfigWithoutAuth,
  loadMigrationTarget,
  type Purpose,
  SETTING_NAMES,
  SETTINGS,
  settingsOf,
  type Settings,
} from './config';
export { ConfirmReceipt } from './fulfilment/confirm-receipt';
export { homeFolder, HomeError } from './home';
export { DEADLINE_KINDS, type DeadlineKind } from './order/deadline-table';
export {
  createDataSource,
  DATABASE,
  type DatabaseAddress,
  dataSourceOptions,
  type PoolOptions,
} from './data-source';
export { migrate, type MigrationTarget } from './migrate';
export { isOfOtherVersion, MissingTablesError } from './missing-tables';
export { type OtherMigrations, otherMigrations } from './ops/other-migrations';
export { parseDuration } from './duration';
export { type PostgresRefusal, postgresRefusal } from './order/postgres-refusal';
export { isPlainText, PLAIN_TEXT_RULE, printableText } from './order/plain-text';
export {
  ERROR_STATUS,
  type ErrorCode,
  LastcallError,
  orderNotFound,
  reasonOf,
} from './order/errors';
export {
  type ExtendCommand,
  type Extended,
  ExtendWindow,
  MAX_EXTENSION_MS,
} from './closing/extend-window';
export type { ErrandArgs, ErrandKinds, ErrandName, ErrandResult } from './errands/errand-kinds';
export { ErrandError, leaveErrand } from './errands/leave-errand';
export { ForceCloseOrder } from './closing/force-close-order';
export { Gauges, type GaugesRead, type GaugesView } from './ops/gauges';
export { GroupCommit } from './group-commit';
export type { GroupCommitOptions, HowToCarryOut } from './group-commit-options';
export {
  type Invariant,
  type InvariantOptions,
  type InvariantResult,
  INVARIANTS,
  runInvariants,
} from './invariants/run-invariants';
export { type InvariantReading, WatchInvariants } from './invariants/watch-invariants';
export type {
  OrderBalance,
  OrderItem,
  OrderView,
  PaymentStatus,
  PaymentView,
  RefundReason,
  RefundStatus,
  RefundView,
  Shipment,
} from './order/order';
export { type Check, type TellOfSlow, unseen } from './ops/doctor/check';
export { WITHOUT_REDIS } from './ops/doctor/examine-redis';
export { examineDependencies } from './ops/doctor/examine-dependencies';
export { examinePostgres } from './ops/doctor/examine-postgres';
export { hasDeadlinesAlone } from './ops/deadlines-alone';
export { ExamineInstallation, type ExamineOptions } from './ops/doctor/examine-installation';
export {
  type ClosableFilter,
  type ClosePlan,
  type CloseResult,
  type CloseRun,
  ForceCloseOrders,
} from './ops/force-close-orders';
export {
  type HeldPayment,
  ListHeldPayments,
  type PaymentDecision,
  type SettledPayment,
  SettlePayment,
  type SettleRun,
} from './ops/held-payments';
export { type Accountable, type ActionRun, REASON_LENGTH } from './order/operator-action';
export type { Page } from './order/page';
export { isUuid, UUID } from './order/uuid';
export { OpsModule } from './ops/ops.module';
export { OrderDetails } from './ops/order-details';
export type {
  DeadlineDetails,
  OrderDetailsView,
  RefundDetails,
  UnansweredPayment,
} from './ops/read-order-details';
export type { TimelineEntry } from './ops/order-timeline';
export {
  differenceText,
  type HostCode,
  type ProcessView,
  readRunningSettings,
  type RunningSettings,
  type SettingDifference,
} from './ops/running-settings';
export {
  SHARED_NAMES,
  type SharedName,
  sharedSettings,
  type SharedSettings,
} from './ops/shared-settings';
export { examineHooks } from './ops/doctor/examine-hooks';
export { examineProcesses } from './ops/doctor/examine-processes';
export { ListRefunds, type RefundEntry, RetryRefund } from './ops/refunds';
export { FinishRefund, type FinishedRefund, type FinishRun } from './ops/finish-refund';
export { RedisOwner, type RedisOwnerOptions, type RedisOwners } from './ops/redis-owner';
export { DeadlinesOfHosts } from './ops/deadlines-of-hosts';
export { ReleaseDeadlines } from './ops/release-deadlines';
export { WAIT_NAMES, type WaitName, type WaitReading, type WaitReadings, WAITS } from './ops/waits';
export { RewindEvents, type Rewound } from './ops/rewind-events';
export { type EraseCommand, EraseCustomer, type ErasedCustomer } from './ops/erase-customer';
export { type CustomerExport, ExportCustomer, type ExportedOrder } from './ops/export-customer';
export type {
  ExportedAction,
  ExportedMovement,
  ExportedPayment,
  KeptOfOrder,
} from './ops/kept-of-orders';
export { NamesInLogs } from './order/names-in-logs';
export { Statistics, type StatisticsView } from './ops/statistics';
export {
  type DeadlineFinding,
  type DeadlineFindings,
  type DeadlinesReport,
  VerifyDeadlines,
} from './ops/verify-deadlines';
export {
  Deliveries,
  type Delivery,
  DELIVERY_STATUSES,
  type DeliveryStatus,
  MAX_REDELIVERED,
} from './deliveries/deliveries';
export { type Claimed, DeliverWebhooks, type DeliveryCounts } from './deliveries/deliver-webhooks';
export {
  DEFAULT_OVERLAP_MS,
  MAX_OVERLAP_MS,
  type WebhookEndpoint,
  WebhookEndpoints,
  type WithSecret,
} from './deliveries/endpoints';
export { FanOutEvents } from './deliveries/fan-out';
export { ALL_EVENTS, type DeliveredEvent, EVENT_TYPES } from './deliveries/message';
export type { Attempt } from './deliveries/post-webhook';
export { DismissWebhook } from './ops/dismiss-webhook';
export { ListWebhooks, ReplayWebhook } from './ops/webhooks';
export { WEBHOOK_STATUSES, type WebhookEntry, type WebhookStatus } from './ops/webhook-entry';
export {
  type BrakeView,
  openBrakeOfDeadlines,
  TimeoutBrake,
  type WhatToResume,
} from './ops/timeout-brake';
export { OrderFeed } from './events/order-feed';
export { type OrderEventView, readHistory } from './events/read-history';
export { type StreamToken, StreamTokens } from './events/stream-tokens';
export {
  type Invitation,
  MAX_SESSIONS_LISTED,
  type PageSession,
  PageSessions,
  type RevokedSessions,
  type SessionPage,
} from './sessions/page-sessions';
export type { HookTx } from './order/hook-tx';
export {
  type HooksOrders,
  type OrderDraft,
  OrderHook,
  type OrderTransition,
  type Refusal,
} from './order/order-hook';
export type { Shortage, StockLine, StockPort } from './order/stock-port';
export { type GuardedOrder, OrderGuard } from './order/order-guard';
export {
  type By,
  CLOSE_REASONS,
  type CloseReason,
  FINAL_STATUSES,
  ORDER_STATUSES,
  type OrderStatus,
  type StockEffect,
  TRANSITIONS,
} from './order/order.lifecycle';
export { onDataSource, type Queryable } from './order/order-rows';
export type { AmountRange, OrderFilter } from './order/search-orders';
export {
  hostOptionsAsConfig,
  type OrdersHostOptions,
  type OrdersModuleAsyncOptions,
} from './host-options';
export type { OrdersModuleOptions } from './module-options';
export type { EventSink, RelayedEvent } from './events/event-stream';
export { OrdersModule } from './orders.module';
export { SecondOrdersModuleError } from './second-orders-module';
export { OPEN_ALARM_QUEUE, type OpenAlarmQueue } from './set-up-providers';
export {
  type ActionResult,
  CONSOLE_ACTIONS,
  type ConsoleAction,
  ConsoleActions,
  type ConsoleRun,
} from './ops/console-actions';
export { type AuditEntry, type AuditPage, isAuditCursor } from './ops/audit-trail';
export { ConsoleView, type NowView, type WaitEntry } from './ops/console-view';
export { Overview, type OverviewView } from './ops/overview';
export {
  AdjustStock,
  type ProductChange,
  type ProductDetails,
  type ProductEntry,
  PutProduct,
  ReadProducts,
} from './ops/products';
export {
  type ImportCounts,
  ImportProducts,
  type LineComplaint,
  type ProductLine,
} from './ops/import-products';
export {
  MAX_NAME_LENGTH,
  MAX_STOCK,
  MAX_UNIT_PRICE,
  type ProductToPut,
  SKU,
  SKU_RULE,
} from './stock/product-rules';
export { type PlaceCommand, PlaceOrder } from './placing/place-order';
export { ListProducts, type ProductView } from './stock/products';
export {
  type CapturedMoney,
  type Checkout,
  type CreateAnswer,
  type CreatedPayment,
  type ExtendAnswer,
  type LedgerPage,
  type LedgerPayment,
  type MoreTime,
  type NewPayment,
  type PaymentLine,
  type PaymentProvider,
  type PaymentRef,
  type PaymentRequest,
  type ProviderAnswer,
  type ProviderFinding,
  type ProviderNotice,
  type RefundAnswer,
  type RefundRequest,
} from './providers/payment-provider';
export { PaymentProviders } from './providers/payment-providers';
export { type UnchargeableCurrency, UnchargeableProducts } from './providers/unchargeable-products';
export { type OpenWork, StrandedWork } from './providers/stranded-work';
export { ListOrders, ReadOrder } from './closing/read-order';
export { ReceiveWebhook } from './payments/receive-webhook';
export {
  type Difference,
  Reconcile,
  type ReconcileCounts,
  type ReconcileRequest,
} from './reconciling/reconcile';
export {
  type ClosedRun,
  type FixOutcome,
  type FindingState,
  type ReconcileRun,
  ReconcileRuns,
  type RunCounts,
} from './reconciling/reconcile-runs';
export type { Place, PlaceOfRun } from './reconciling/reconcile-places';
export type { ReconcileGauges } from './reconciling/reconcile-gauges';
export { RelayEvents } from './events/relay-events';
export { SettleClosing } from './closing/settle-closing';
export { seedProducts } from './stock/seed-products';
export { ShipOrder } from './fulfilment/ship-order';
export {
  type StartedPayment,
  StartPayment,
  type StartPaymentCommand,
} from './payments/start-payment';
export {
  type HostOrdersTelemetry,
  ORDERS_TELEMETRY,
  type OrdersTelemetry,
  type WebhookResult,
} from './order/telemetry';
export type { HoldReason } from './money/capture.judgement';
export type { CauseFigures, CloseFigures, RecentCloses } from './ops/close-figures';
export type { StatusChange } from './order/change-status';
export type { ChangedOrder } from './order/changed-orders';
export type { WebhookHeaders } from './payments/read-notice';
export type { Finding, Fix } from './reconciling/reconcile-finding';
export type { OrdersParts } from './set-up';
export type { ProductEditor } from './stock/change-products';
export type { ReturnedLine } from './stock/restock';
export type { ForeignMove } from './money/foreign-money';
export type { Capture } from './money/judged-captures';
export type { SettledAnswer } from './money/settle-refunds';
