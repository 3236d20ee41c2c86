import { CancelOrder } from './closing/cancel-order';
import { CancelPaid } from './closing/cancel-paid';
import { CancelWishes } from './closing/cancel-wishes';
import { CloseOrder } from './closing/close-order';
import { ExtendPayments } from './closing/extend-payments';
import { ExtendWindow } from './closing/extend-window';
import { ForceCloseOrder } from './closing/force-close-order';
import { ListOrders, ReadOrder } from './closing/read-order';
import { SettleClosing } from './closing/settle-closing';
import { DeliverWebhooks } from './deliveries/deliver-webhooks';
import { Deliveries } from './deliveries/deliveries';
import { WebhookEndpoints } from './deliveries/endpoints';
import { FanOutEvents } from './deliveries/fan-out';
import { DigestHistory } from './events/digest-history';
import { OrderFeed } from './events/order-feed';
import { RelayEvents } from './events/relay-events';
import { SealHistory } from './events/seal-history';
import { StreamTokens } from './events/stream-tokens';
import { ConfirmReceipt } from './fulfilment/confirm-receipt';
import { ShipOrder } from './fulfilment/ship-order';
import { WarnShipments } from './fulfilment/warn-shipments';
import { WatchInvariants } from './invariants/watch-invariants';
import { ForeignMoney } from './money/foreign-money';
import { RecordCaptures } from './money/record-captures';
import { SettleRefunds } from './money/settle-refunds';
import { CancelOrderByOperator } from './ops/cancel-order-by-operator';
import { CreateRefund } from './ops/create-refund';
import { FinishRefund } from './ops/finish-refund';
import { Gauges } from './ops/gauges';
import { Overview } from './ops/overview';
import { SettleOrder } from './ops/settle-order';
import { ForgetHeld } from './ops/forget-held';
import { WatchWaits } from './ops/watch-waits';
import { NamesInLogs } from './order/names-in-logs';
import { OrderGuard } from './order/order-guard';
import { OrderHooks } from './order/order-hooks';
import { SigningKey } from './order/signing-key';
import { ApplyNotices } from './payments/apply-notices';
import { ReceiveWebhook } from './payments/receive-webhook';
import { StartPayment } from './payments/start-payment';
import { PlaceOrder } from './placing/place-order';
import { StrandedWork } from './providers/stranded-work';
import { UnchargeableProducts } from './providers/unchargeable-products';
import { Reconcile } from './reconciling/reconcile';
import { ReconcileFixes } from './reconciling/reconcile-fixes';
import { ReconcileRuns } from './reconciling/reconcile-runs';
import { Retention } from './retention';
import { PageSessions } from './sessions/page-sessions';
import { FoldStock } from './stock/fold-stock';
import { ListProducts } from './stock/products';

/** What the module offers to those who import it, and to each other. */
export const USE_CASES = [
  Deliveries,
  DeliverWebhooks,
  DigestHistory,
  FanOutEvents,
  WebhookEndpoints,
  ApplyNotices,
  CancelOrder,
  CancelOrderByOperator,
  CancelPaid,
  CancelWishes,
  CloseOrder,
  ConfirmReceipt,
  CreateRefund,
  ExtendPayments,
  ExtendWindow,
  FinishRefund,
  FoldStock,
  ForceCloseOrder,
  ForeignMoney,
  ForgetHeld,
  Gauges,
  ListOrders,
  ListProducts,
  NamesInLogs,
  OrderFeed,
  OrderGuard,
  OrderHooks,
  Overview,
  PageSessions,
  PlaceOrder,
  ReadOrder,
  ReceiveWebhook,
  Reconcile,
  ReconcileFixes,
  ReconcileRuns,
  RecordCaptures,
  RelayEvents,
  Retention,
  SealHistory,
  SettleClosing,
  SettleOrder,
  SettleRefunds,
  ShipOrder,
  SigningKey,
  StartPayment,
  StrandedWork,
  StreamTokens,
  UnchargeableProducts,
  WarnShipments,
  WatchInvariants,
  WatchWaits,
];
