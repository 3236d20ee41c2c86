import 'reflect-metadata';
import {
  AdjustStock,
  CancelOrderByOperator,
  type CloseResult,
  type CloseRun,
  type Config,
  type CreatedRefund,
  CreateRefund,
  DATABASE,
  Deliveries,
  DismissWebhook,
  EraseCustomer,
  ExamineInstallation,
  ExportCustomer,
  type Extended,
  ExtendWindow,
  ForceCloseOrders,
  ImportProducts,
  ListHeldPayments,
  ListRefunds,
  ListWebhooks,
  onDataSource,
  OpsModule,
  OrdersModule,
  type Purpose,
  PutProduct,
  ReadProducts,
  PageSessions,
  Reconcile,
  ReconcileRuns,
  ReleaseDeadlines,
  ReplayWebhook,
  FinishRefund,
  RetryRefund,
  RewindEvents,
  type RunningSettings,
  SettleOrder,
  SettlePayment,
  Statistics,
  TimeoutBrake,
  VerifyDeadlines,
  WebhookEndpoints,
} from '@app/orders';
import { TimeoutService } from '@app/timeout';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { DataSource } from 'typeorm';
import { AtHost } from './at-host';
import { effectiveSettings } from './effective-settings';
import { quietTelemetry } from './quiet-telemetry';
import type { Refuse } from './refuse-beside-host';

/** A process that ended its work waits no longer than this for connections to say goodbye. */
const CLOSE_LIMIT_MS = 2_000;

/** The running installation as the commands use it: the core's use cases, by name. */
export class Installation {
  constructor(
    readonly config: Config,
    /** What the processes run with, where they differ from each other and from here. */
    readonly running: RunningSettings,
    private readonly app: INestApplicationContext,
    private readonly note: (line: string) => void,
  ) {}

  readonly dataSource = this.app.get<DataSource>(DATABASE);
  readonly #atWorker = new AtHost(onDataSource(this.dataSource), this.note);
  /** Beside a host with hooks or a stock of its own its workers change orders, and nobody else. */
  readonly #atHost = this.running.host.hasHooks ? this.#atWorker : undefined;
  readonly timeouts = this.app.get(TimeoutService);
  readonly pageSessions = this.app.get(PageSessions);
  readonly statistics = this.app.get(Statistics);
  readonly examine = this.app.get(ExamineInstallation);
  readonly forceClose = this.app.get(ForceCloseOrders);
  readonly cancelOrder =
    this.#atHost?.cancelOrder ?? this.app.get<CancelOrderByOperator>(CancelOrderByOperator);
  readonly #extendWindow = this.app.get(ExtendWindow);
  readonly settleOrder = this.#atHost?.settleOrder ?? this.app.get<SettleOrder>(SettleOrder);
  readonly #createRefund = this.app.get(CreateRefund);
  readonly dismissWebhook = this.app.get(DismissWebhook);
  readonly heldPayments = this.app.get(ListHeldPayments);
  readonly settlePayment =
    this.#atHost?.settlePayment ?? this.app.get<SettlePayment>(SettlePayment);
  readonly eraseCustomer = this.app.get(EraseCustomer);
  readonly exportCustomer = this.app.get(ExportCustomer);
  readonly refunds = this.app.get(ListRefunds);
  readonly retryRefund = this.app.get(RetryRefund);
  readonly finishRefund = this.app.get(FinishRefund);
  readonly rewindEvents = this.app.get(RewindEvents);
  readonly products = this.app.get(ReadProducts);
  readonly putProduct = this.app.get(PutProduct);
  readonly adjustStock = this.app.get(AdjustStock);
  readonly importProducts = this.app.get(ImportProducts);
  readonly reconcileRuns = this.app.get(ReconcileRuns);
  readonly webhookEndpoints = this.app.get(WebhookEndpoints);
  readonly deliveries = this.app.get(Deliveries);
  readonly reconcile = this.app.get(Reconcile);
  readonly webhooks = this.app.get(ListWebhooks);
  readonly replayWebhook = this.app.get(ReplayWebhook);
  readonly verifyDeadlines = this.app.get(VerifyDeadlines);
  readonly releaseDeadlines = this.app.get(ReleaseDeadlines);
  readonly timeoutBrake = this.app.get(TimeoutBrake);

  /** Closes orders by force, here or in the host's processes. */
  closeByForce(orderIds: readonly string[], run: CloseRun): Promise<CloseResult[]> {
    const closing = this.#atHost;
    return closing ? closing.forceClose(orderIds, run) : this.forceClose.run(orderIds, run);
  }

  /** Extends an order here, or by a worker where its open payment is at a provider that cannot be asked from here. */
  async extend(...args: Parameters<ExtendWindow['extendOnce']>): Promise<Extended> {
    const isHere = await this.#extendWindow.canExtendHere(args[0]);
    const extending = isHere ? this.#extendWindow : this.#atWorker.extendWindow;
    return extending.extendOnce(...args);
  }

  /** Sends money back here, or by a worker where that has the hooks, or what its provider would refuse. */
  async refund(...args: Parameters<CreateRefund['create']>): Promise<CreatedRefund> {
    if (this.#atHost) return this.#atHost.createRefund.create(...args);
    const isHere = await this.#createRefund.canPlanHere(args[0]);
    const creating = isHere ? this.#createRefund : this.#atWorker.createRefundAtProvider;
    return creating.create(...args);
  }

  async close(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const enough = new Promise<void>((resolve) => (timer = setTimeout(resolve, CLOSE_LIMIT_MS)));
    await Promise.race([this.#settleAndClose(), enough]);
    clearTimeout(timer);
  }

  /** What a command made due has its alarm before the connection that arms it is cut. */
  async #settleAndClose(): Promise<void> {
    await this.timeouts.alarms.settled();
    await this.app.close();
  }
}

/** Connects without ringing: a command arms and closes, and leaves the alarms to the workers. */
export async function openInstallation(
  purpose: Purpose,
  env: NodeJS.ProcessEnv,
  note: (line: string) => void,
  refuse?: Refuse,
): Promise<Installation> {
  const { config, running } = await effectiveSettings(purpose, env, note, refuse);
  const orders = OrdersModule.forRoot(config, quietTelemetry(note), {
    ring: false,
    isVisitor: true,
    hooksElsewhere: running.host.hasHooks,
    providersElsewhere: running.host.providers,
  });
  const app = await NestFactory.createApplicationContext(
    { module: class OpsCli {}, imports: [orders, OpsModule] },
    { logger: false, abortOnError: false },
  );
  return new Installation(config, running, app, note);
}
