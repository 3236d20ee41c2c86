import {
  type By,
  DEADLINE_KINDS,
  type GaugesView,
  type OrdersTelemetry,
  type OrderStatus,
  type WebhookResult,
} from '@app/orders';
import { isContention } from '@app/timeout';
import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Logger } from '../logging/logger';
import { QuietPeriods } from '../logging/quiet-periods';
import { DatabaseGauges } from './database-gauges';
import {
  BoundedLabels,
  CLOSED_BY,
  LOCK_OUTCOMES,
  type LockOutcome,
  WEBHOOK_RESULTS,
} from './labels';
import { Metrics } from './metrics';

/** From the precision of a timer to the lateness of a sweep that found a day's backlog, in seconds. */
const LAG_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600, 86_400];
const CALL_BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10];
type ProviderCall = Parameters<OrdersTelemetry['providerCall']>[0];
type SweepCounts = Parameters<OrdersTelemetry['swept']>[0];

/** What the order module reports, as metrics; and in the log where somebody should know. */
@Injectable()
export class PrometheusTelemetry implements OrdersTelemetry {
  readonly registry = new Registry();
  readonly #metrics = new Metrics(this.registry);

  readonly #closeLag = this.#metrics.histogram(
    'close_lag_seconds',
    'How long after its deadline an order was closed',
    ['by'],
    LAG_BUCKETS,
  );
  readonly #transitions = this.#metrics.counter('transitions_total', 'Changes of an order status', [
    'from',
    'to',
    'by',
  ]);
  readonly #races = this.#metrics.counter(
    'payment_race_total',
    'A payment and a close met: who won',
    ['winner'],
  );
  readonly #guard = this.#metrics.counter(
    'guard_total',
    'How asking for the lock of orders ended',
    ['outcome'],
  );
  readonly #webhooks = this.#metrics.counter('webhooks_total', 'What became of webhooks', [
    'result',
  ]);
  readonly #deliveries = this.#metrics.counter(
    'webhook_deliveries_total',
    "Attempts to send webhooks to the shop's own systems: delivered, failed, dead",
    ['result'],
  );
  readonly #alerts = this.#metrics.counter('alerts_total', 'Things that need an operator', []);
  readonly #batchFailures = this.#metrics.counter(
    'batch_failures_total',
    'Batches of deadlines that failed, or that had deadlines that failed',
    ['kind'],
  );
  readonly #held = this.#metrics.counter('held_deadlines_total', 'Deadlines given up on', ['kind']);
  readonly #countedAlone = this.#metrics.counter(
    'requests_counted_alone_total',
    'Rate limits that other processes have not heard of, as Redis was away',
    [],
  );
  readonly #securityEvents = this.#metrics.counter(
    'security_events_total',
    'What was tried and refused',
    ['event'],
  );
  readonly #failures = this.#metrics.counter(
    'background_failures_total',
    'Background work that failed',
    ['what'],
  );
  readonly #providerCalls = this.#metrics.histogram(
    'provider_call_seconds',
    'Calls to the payment provider',
    ['provider', 'operation', 'outcome'],
    CALL_BUCKETS,
  );
  readonly #sweepRun = this.#metrics.gauge(
    'sweep_last_run_timestamp_seconds',
    'End of the last sweep',
  );
  readonly #sweepInterval = this.#metrics.gauge(
    'sweep_interval_seconds',
    'How far apart sweeps are at the most',
  );
  readonly #sweepFound = this.#metrics.counter(
    'sweep_found_total',
    'Overdue deadlines swept up',
    [],
  );
  readonly #handled = this.#metrics.counter(
    'deadlines_handled_total',
    'Deadlines handled, and whether within the service level of 30 s',
    ['kind', 'in_time'],
  );
  readonly #handlerFailing = this.#metrics.gauge(
    'handler_failing',
    '1 while handling this kind of deadline fails for all, and the kind stands still but for probes',
    ['kind'],
  );
  readonly #timerStore = this.#metrics.gauge('timer_store_healthy', '1 while alarms can be stored');
  readonly #ofDatabase = new DatabaseGauges(this.#metrics);
  readonly #quiet = new QuietPeriods();
  readonly #labels = new BoundedLabels();

  constructor(
    private readonly logger: Logger,
    sweepIntervalMs: number,
  ) {
    collectDefaultMetrics({ register: this.registry });
    this.#sweepInterval.set(sweepIntervalMs / 1_000);
    this.#timerStore.set(1);
    this.#beginAtZero();
  }

  /** A series that begins with its first event has no rise: `rate` and alerts would miss that one. */
  #beginAtZero(): void {
    for (const by of CLOSED_BY) {
      this.#closeLag.zero({ by });
      this.#transitions.inc({ from: 'pending_payment', to: 'closed', by }, 0);
    }
    for (const winner of ['payment', 'close']) this.#races.inc({ winner }, 0);
    for (const outcome of Object.keys(LOCK_OUTCOMES)) this.#guard.inc({ outcome }, 0);
    for (const result of Object.keys(WEBHOOK_RESULTS)) this.#webhooks.inc({ result }, 0);
    for (const kind of DEADLINE_KINDS) {
      this.#batchFailures.inc({ kind }, 0);
      this.#held.inc({ kind }, 0);
      this.handled(kind, { inTime: 0, late: 0 });
      this.#handlerFailing.set({ kind }, 0);
    }
  }

  transitions(from: OrderStatus | 'none', to: OrderStatus, by: By, count: number): void {
    this.#transitions.inc({ from, to, by }, count);
  }

  closed(by: By, lagMs: number): void {
    this.closedMany(by, lagMs, 1);
  }

  closedMany(by: By, lagMs: number, count: number): void {
    // Closed early, by a customer or an operator, is not late at all.
    this.#closeLag.observeMany({ by }, Math.max(0, lagMs) / 1_000, count);
  }

  race(winner: 'payment' | 'close'): void {
    this.#races.inc({ winner });
  }

  locked(outcome: LockOutcome): void {
    this.#guard.inc({ outcome });
  }

  webhook(result: WebhookResult): void {
    this.#webhooks.inc({ result });
  }

  delivered(result: 'delivered' | 'failed' | 'dead', count: number): void {
    this.#deliveries.inc({ result }, count);
  }

  alert(what: string, fields: Readonly<Record<string, unknown>>): void {
    this.#alerts.inc();
    this.logger.error({ ...fields, alert: true }, what);
  }

  sealed(history: string, number: number, digest: string): void {
    this.logger.info({ security: 'history_sealed', history, number, digest }, 'history sealed');
  }

  providerCall({ provider, operation, outcome, tookMs }: ProviderCall): void {
    const labels = {
      provider: this.#labels.bounded('provider', provider),
      operation: this.#labels.bounded('operation', operation),
      outcome: this.#labels.bounded('outcome', outcome),
    };
    this.#providerCalls.observe(labels, tookMs / 1_000);
  }

  batchFailed(kind: string, size: number, error: unknown): void {
    this.#batchFailures.inc({ kind: this.#labels.bounded('kind', kind) });
    if (!isContention(error)) {
      this.logger.error({ kind, size, err: error }, 'a batch of deadlines failed');
      return;
    }
    // Tried again many times a second, for as long as it is held.
    const unsaid = this.#quiet.unsaidBefore(`${kind} waits`);
    if (unsaid === undefined) return;
    const waits = { kind, size, err: error, unsaid };
    this.logger.error(waits, 'deadlines wait for what somebody holds');
  }

  unknownKinds(kinds: readonly string[]): void {
    this.logger.warn({ kinds }, 'deadlines of kinds that this version does not know: left alone');
  }

  deadlineHeld(kind: string, subjectId: string, error: unknown): void {
    this.#held.inc({ kind: this.#labels.bounded('kind', kind) });
    this.logger.error({ kind, subjectId, err: error, alert: true }, 'a deadline is held');
  }

  handlerFails(kind: string, error: unknown): void {
    this.#handlerFailing.set({ kind: this.#labels.bounded('kind', kind) }, 1);
    this.alert('handling a kind of deadline fails for all', { kind, err: error });
  }

  handlerWorks(kind: string): void {
    this.#handlerFailing.set({ kind: this.#labels.bounded('kind', kind) }, 0);
    this.logger.info({ kind }, 'handling this kind of deadline works again');
  }

  /** Requests that other processes have not heard of, as Redis was away. */
  requestsCountedAlone(keys: number): void {
    this.#countedAlone.inc(keys);
  }

  /** Something that somebody tried and was refused (security-log.ts). */
  securityEvent(event: string, count = 1): void {
    this.#securityEvents.inc({ event }, count);
  }

  timerStore(state: 'healthy' | 'unhealthy', why?: unknown): void {
    this.#timerStore.set(state === 'healthy' ? 1 : 0);
    if (state === 'healthy') this.logger.info('the timer store is healthy again');
    else this.logger.warn({ err: why }, 'the timer store is unhealthy: the sweep takes over');
  }

  swept({ armed, oldestLagMs, tookMs }: SweepCounts): void {
    this.#sweepRun.setToCurrentTime();
    this.logger.debug({ armed, oldestLagMs, tookMs }, 'swept');
  }

  sweptUp({ found }: { readonly found: number }): void {
    this.#sweepFound.inc(found);
  }

  handled(kind: string, { inTime, late }: { inTime: number; late: number }): void {
    const label = this.#labels.bounded('kind', kind);
    // Both, also where one is none: a rate needs a series that has begun at 0.
    this.#handled.inc({ kind: label, in_time: 'yes' }, inTime);
    this.#handled.inc({ kind: label, in_time: 'no' }, late);
  }

  failed(what: string, error: unknown): void {
    this.#failures.inc({ what: this.#labels.bounded('what', what) });
    const unsaid = this.#quiet.unsaidBefore(what);
    if (unsaid === undefined) return;
    this.logger.error({ what, err: error, unsaid }, 'background work failed');
  }

  /** What only the database knows, read at the time of a scrape; NaN for what it cannot tell. */
  setGauges(readings: Partial<GaugesView>): void {
    this.#ofDatabase.set(readings);
  }
}
