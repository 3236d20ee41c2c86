import { Module } from '@nestjs/common';
import { ExamineInstallation } from './doctor/examine-installation';
import { ExamineProviders } from './doctor/examine-providers';
import { ConsoleActions } from './console-actions';
import { ConsoleView } from './console-view';
import { DismissWebhook } from './dismiss-webhook';
import { EraseCustomer } from './erase-customer';
import { ExportCustomer } from './export-customer';
import { ForceCloseOrders } from './force-close-orders';
import { ListHeldPayments, SettlePayment } from './held-payments';
import { OrderDetails } from './order-details';
import { ImportProducts } from './import-products';
import { AdjustStock, PutProduct, ReadProducts } from './products';
import { ListRefunds, RetryRefund } from './refunds';
import { ReleaseDeadlines } from './release-deadlines';
import { RewindEvents } from './rewind-events';
import { Statistics } from './statistics';
import { TimeoutBrake } from './timeout-brake';
import { VerifyDeadlines } from './verify-deadlines';
import { ListWebhooks, ReplayWebhook } from './webhooks';

const USE_CASES = [
  ConsoleActions,
  ConsoleView,
  AdjustStock,
  DismissWebhook,
  EraseCustomer,
  ExamineInstallation,
  ExportCustomer,
  ForceCloseOrders,
  ImportProducts,
  ListHeldPayments,
  ListRefunds,
  ListWebhooks,
  OrderDetails,
  PutProduct,
  ReadProducts,
  ReleaseDeadlines,
  ReplayWebhook,
  RetryRefund,
  RewindEvents,
  SettlePayment,
  Statistics,
  TimeoutBrake,
  VerifyDeadlines,
];

/** What operators do beside the storefront; import it next to `OrdersModule.forRoot`. */
@Module({ providers: [...USE_CASES, ExamineProviders], exports: USE_CASES })
export class OpsModule {}
