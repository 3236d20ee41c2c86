import {
  BrakesOfKinds1764140000000,
  Deadlines1763600000000,
  NearAndFarDeadlines1763700210000,
  StoppedKinds1764160000000,
  SweepShards1763930020000,
  TimeoutBrakes1763600020000,
  timerDriverKinds,
  TimeoutSubjects1763701500000,
  Workers1763600010000,
} from '@app/timeout';
import { Orders1763600001000 } from './1763600001000-orders';
import { OperatorActions1763600011000 } from './1763600011000-operator-actions';
import { PaymentsOnHold1763600012000 } from './1763600012000-payments-on-hold';
import { ApplicationRole1763600030000 } from './1763600030000-application-role';
import { Retention1763600040000 } from './1763600040000-retention';
import { MoneyMovements1763700100000 } from './1763700100000-money-movements';
import { EventOrder1763700110000 } from './1763700110000-event-order';
import { MoneyAfterPaid1763700120000 } from './1763700120000-money-after-paid';
import { StockMovements1763700200000 } from './1763700200000-stock-movements';
import { RetentionByKey1763700220000 } from './1763700220000-retention-by-key';
import { UnpaidOrders1763700250000 } from './1763700250000-unpaid-orders';
import { PaymentsAtProviders1763700260000 } from './1763700260000-payments-at-providers';
import { PrivateFunctions1763700260000 } from './1763700260000-private-functions';
import { SigningKey1763700410000 } from './1763700410000-signing-key';
import { ReturnUrls1763700420000 } from './1763700420000-return-urls';
import { EventNumbers1763701110000 } from './1763701110000-event-numbers';
import { Waits1763701120000 } from './1763701120000-waits';
import { ReconcileRuns1763701130000 } from './1763701130000-reconcile-runs';
import { OrderReturns1763701140000 } from './1763701140000-order-returns';
import { NightlyRuns1763701150000 } from './1763701150000-nightly-runs';
import { Processes1763702200000 } from './1763702200000-processes';
import {
  MerchantsView1763800100000,
  WebhooksOfPayment1763800101000,
} from './1763800100000-merchants-view';
import { ProductChanges1763800200000 } from './1763800200000-product-changes';
import { WebhookEndpoints1763800300000 } from './1763800300000-webhook-endpoints';
import { HistorySeals1763900013000 } from './1763900013000-history-seals';
import { EraseCustomers1763900014000 } from './1763900014000-erase-customers';
import { PageSessions1763910000000 } from './1763910000000-page-sessions';
import { ExtensionsOfOrders1763920000000 } from './1763920000000-extensions-of-orders';
import { HistoryReaches1763930000000 } from './1763930000000-history-reaches';
import { FoldingFromAMark1763935000000 } from './1763935000000-folding-from-a-mark';
import { HistoryDigest1763945000000 } from './1763945000000-history-digest';
import { FoldByIds1763946000000 } from './1763946000000-fold-by-ids';
import { RefundKeys1763950000000 } from './1763950000000-refund-keys';
import { RewoundStock1763970000000 } from './1763970000000-rewound-stock';
import { FoldBySku1763980000000 } from './1763980000000-fold-by-sku';
import { HistoryReachesBySnapshot1763990000000 } from './1763990000000-history-reaches-by-snapshot';
import {
  WebhooksGivenUp1764000000000,
  WebhooksGivenUpInPlace1764000001000,
} from './1764000000000-webhooks-given-up';
import { EndsOfHistoryByIndex1764010000000 } from './1764010000000-ends-of-history-by-index';
import { ReturnedMoneyInParts1764020000000 } from './1764020000000-returned-money-in-parts';
import { FoldByPlaceAndId1764030000000 } from './1764030000000-fold-by-place-and-id';
import { RetentionByIndex1764041000000 } from './1764041000000-retention-by-index';
import {
  UnpaidOrdersByAge1764041001000,
  UnpaidStreaksByAge1764041002000,
} from './1764041001000-unpaid-by-age';
import { WebhooksByTheirEnd1764041003000 } from './1764041003000-webhooks-by-their-end';
import { Errands1764050000000 } from './1764050000000-errands';
import { EraseWhatOperatorsWrote1764060000000 } from './1764060000000-erase-what-operators-wrote';
import { ExtensionKeys1764060001000 } from './1764060001000-extension-keys';
import { PaymentsWithRoom1764070000000 } from './1764070000000-payments-with-room';
import { OrdersHavePayments1764080000000 } from './1764080000000-orders-have-payments';
import { PaymentsTellOrders1764080001000 } from './1764080001000-payments-tell-orders';
import { OrdersBeginUnpaid1764080001500 } from './1764080001500-orders-begin-unpaid';
import { UnpaidOrdersHavePayments1764080002000 } from './1764080002000-unpaid-orders-have-payments';
import { PlaceInStream1764090000000 } from './1764090000000-place-in-stream';
import { StuckUntilRewound1764100000000 } from './1764100000000-stuck-until-rewound';
import { StreamFilledAt1764110000000 } from './1764110000000-stream-filled-at';
import { BalancesOfWhatWasTaken1764130000000 } from './1764130000000-balances-of-what-was-taken';
import { UnansweredPayments1764131000000 } from './1764131000000-unanswered-payments';
import { DisputesLostInPart1764132000000 } from './1764132000000-disputes-lost-in-part';
import { EraseWordsOfProviders1764134000000 } from './1764134000000-erase-words-of-providers';
import { RewindBesideFolding1764136000000 } from './1764136000000-rewind-beside-folding';
import { CorrectedCaptures1764141000000 } from './1764141000000-corrected-captures';
import { WordsOfErasedCustomers1764137000000 } from './1764137000000-words-of-erased-customers';
import { TimeOfFailing1764138000000 } from './1764138000000-time-of-failing';
import { PageSessionsBySubject1764150000000 } from './1764150000000-page-sessions-by-subject';

/** Oldest first; TypeORM runs those that are missing. */
export const MIGRATIONS = [
  Deadlines1763600000000,
  TimeoutBrakes1763600020000,
  ApplicationRole1763600030000,
  Orders1763600001000,
  Workers1763600010000,
  OperatorActions1763600011000,
  PaymentsOnHold1763600012000,
  Retention1763600040000,
  MoneyMovements1763700100000,
  EventOrder1763700110000,
  MoneyAfterPaid1763700120000,
  StockMovements1763700200000,
  NearAndFarDeadlines1763700210000,
  TimeoutSubjects1763701500000,
  SweepShards1763930020000,
  RetentionByKey1763700220000,
  UnpaidOrders1763700250000,
  PrivateFunctions1763700260000,
  PaymentsAtProviders1763700260000,
  SigningKey1763700410000,
  ReturnUrls1763700420000,
  EventNumbers1763701110000,
  PageSessions1763910000000,
  ExtensionsOfOrders1763920000000,
  HistoryReaches1763930000000,
  FoldingFromAMark1763935000000,
  HistoryDigest1763945000000,
  FoldByIds1763946000000,
  MerchantsView1763800100000,
  WebhooksOfPayment1763800101000,
  ProductChanges1763800200000,
  HistorySeals1763900013000,
  EraseCustomers1763900014000,
  WebhookEndpoints1763800300000,
  ...[...timerDriverKinds().values()].flatMap(({ migrations = [] }) => migrations),
  Processes1763702200000,
  Waits1763701120000,
  ReconcileRuns1763701130000,
  OrderReturns1763701140000,
  NightlyRuns1763701150000,
  RefundKeys1763950000000,
  RewoundStock1763970000000,
  FoldBySku1763980000000,
  HistoryReachesBySnapshot1763990000000,
  WebhooksGivenUp1764000000000,
  WebhooksGivenUpInPlace1764000001000,
  EndsOfHistoryByIndex1764010000000,
  ReturnedMoneyInParts1764020000000,
  FoldByPlaceAndId1764030000000,
  RetentionByIndex1764041000000,
  UnpaidOrdersByAge1764041001000,
  UnpaidStreaksByAge1764041002000,
  WebhooksByTheirEnd1764041003000,
  Errands1764050000000,
  EraseWhatOperatorsWrote1764060000000,
  ExtensionKeys1764060001000,
  PaymentsWithRoom1764070000000,
  OrdersHavePayments1764080000000,
  PaymentsTellOrders1764080001000,
  OrdersBeginUnpaid1764080001500,
  UnpaidOrdersHavePayments1764080002000,
  PlaceInStream1764090000000,
  StuckUntilRewound1764100000000,
  StreamFilledAt1764110000000,
  BalancesOfWhatWasTaken1764130000000,
  UnansweredPayments1764131000000,
  DisputesLostInPart1764132000000,
  EraseWordsOfProviders1764134000000,
  RewindBesideFolding1764136000000,
  WordsOfErasedCustomers1764137000000,
  TimeOfFailing1764138000000,
  BrakesOfKinds1764140000000,
  CorrectedCaptures1764141000000,
  PageSessionsBySubject1764150000000,
  StoppedKinds1764160000000,
];
