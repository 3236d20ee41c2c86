import { lifting } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { trying } from '../order/advisory-locks';
import { DATABASE } from '../data-source';
import { onDataSource } from '../order/order-rows';
import type { Accountable } from '../order/operator-action';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';
import type { PaymentProvider } from '../providers/payment-provider';
import { PaymentProviders } from '../providers/payment-providers';
import { readOurs, readOursOnly } from './reconcile-books';
import { ReconcileFixes } from './reconcile-fixes';
import { notRead, type PlaceOfRun, placesLeft, readLedger, UnreadLedger } from './reconcile-places';
import {
  type FixOutcome,
  type ReconcileRun,
  ReconcileRuns,
  type RunCounts,
} from './reconcile-runs';
import type { Finding } from './reconcile-finding';
import { comparePayment } from './reconcile.judgement';

/** A difference between our books and a provider's ledger. */
export interface Difference extends Omit<Finding, 'fix'> {
  /** True when `fix` would settle it: only one thing can be right. */
  readonly fixable: boolean;
  /** True when it was settled now. */
  readonly fixed: boolean;
  /** True when settling it has failed now: a hook that throws, an order that somebody holds. */
  readonly failed: boolean;
  /** True when an operator has said of the very same difference that it is done with. */
  readonly closed: boolean;
}

export interface ReconcileRequest {
  readonly since: Date;
  /** Goes on with this run, which was interrupted, instead of beginning one. */
  readonly resume?: string | undefined;
  /** Settles what has one safe answer, for this operator; the rest is only told of. */
  readonly fixFor?: Accountable | undefined;
  readonly onDifference: (difference: Difference) => void | Promise<void>;
  /** Told of the run's id before anything is compared: what fails behind it can be gone on with. */
  readonly onBegun?: ((runId: string) => void) | undefined;
  /** Stops between two pages, and before anything more is read or settled: its page is then compared again. */
  readonly signal?: AbortSignal | undefined;
}

export interface ReconcileCounts extends RunCounts {
  /** To go on with where it was interrupted, and to close. */
  readonly runId: string;
}

/** How far the provider's clock may be behind ours. */
const CLOCK_SKEW_MS = 300_000;
/** What the daily run looks at: a week, so that several runs see each payment. */
const DAILY_SPAN_MS = 7 * 86_400_000;
/** Who settles at night. */
const NIGHTLY: Accountable = { actor: 'lastcall', reason: 'nightly reconciliation' };

/**
 * Compares our payments and refunds with the providers' ledgers, page by page: nothing is kept in
 * memory, and one that was interrupted goes on behind the last page.
 */
@Injectable()
export class Reconcile {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly runs: ReconcileRuns,
    private readonly fixes: ReconcileFixes,
    private readonly providers: PaymentProviders,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  /**
   * What cannot be settled is counted and told of, once a run (telemetry's `failed`), and hides nothing
   * behind it. Nor does a ledger that cannot be read hide those of the other providers: they are compared
   * first, and the run, which stays unfinished, goes on with that one alone, by `resume`.
   * @throws {LastcallError} provider_error when a ledger cannot be read to its end (`fields.providers`),
   *   reconcile_run_not_found, reconcile_run_over
   */
  async run(request: ReconcileRequest): Promise<ReconcileCounts> {
    const { resume, since, onBegun } = request;
    const run = resume ? await this.runs.resume(resume) : await this.runs.begin(since);
    onBegun?.(run.id);
    return this.#goOn(run, request);
  }

  /**
   * The daily run: settles what has one safe answer, and raises an alert for the rest. Goes on with
   * one that a worker did not live to end. Several workers at once: one of them gets to it.
   */
  async runOnce(signal?: AbortSignal): Promise<ReconcileCounts | undefined> {
    const runner = this.dataSource.createQueryRunner();
    try {
      // It stands still while other connections compare.
      await runner.query(lifting('idle_session_timeout'));
      const sql = `SELECT ${trying('reconcile', 'session')} AS leads`;
      const [turn] = (await runner.query(sql)) as { leads: boolean }[];
      return turn?.leads ? await this.#tonight(signal) : undefined;
    } finally {
      // Of two locks one may have been had. A connection that broke has let go of them by itself.
      await runner.query('SELECT pg_advisory_unlock_all()').catch(() => undefined);
      await runner.release();
    }
  }

  async #tonight(signal: AbortSignal | undefined): Promise<ReconcileCounts | undefined> {
    const since = new Date(Date.now() - DAILY_SPAN_MS);
    const run = await this.runs.tonight(since);
    if (!run) return undefined;
    const onDifference = (): void => undefined;
    const request = { since, fixFor: NIGHTLY, onDifference, signal };
    const counts = await this.#goOn(run, request).catch(async (error: unknown) => {
      // What was compared all the same has to be told of; where the database is away, nothing can be.
      const soFar = await this.runs.count(run).catch(() => undefined);
      if (soFar) this.#callFor({ runId: run.id, ...soFar });
      throw error;
    });
    if (!signal?.aborted) this.#callFor(counts);
    return counts;
  }

  #callFor(counts: ReconcileCounts): void {
    const open = counts.differences - counts.fixed - counts.closed;
    if (open > 0) this.telemetry.alert('reconcile_differences', { ...counts, open });
  }

  async #goOn(run: ReconcileRun, request: ReconcileRequest): Promise<ReconcileCounts> {
    const failures: Failure[] = [];
    try {
      return await this.#compareAll(run, { ...request, failures });
    } finally {
      const [first] = failures;
      if (first) this.telemetry.failed('reconcile', notSettled(first, failures.length));
    }
  }

  async #compareAll(run: ReconcileRun, request: Comparison): Promise<ReconcileCounts> {
    const todo = placesLeft(run.place, this.providers.names);
    const unread: UnreadLedger[] = [];
    for (let at = todo.shift(); at && !request.signal?.aborted; at = todo.shift()) {
      const rest = [...todo, ...unread.map(({ place }) => place)];
      try {
        await this.#compareAt(run, request, { ...at, rest });
      } catch (error) {
        if (!(error instanceof UnreadLedger)) throw error;
        unread.push(error);
      }
    }
    if (!request.signal?.aborted) {
      const [first, ...others] = unread;
      if (first) {
        await this.runs.saveUnread(run, [first.place, ...others.map(({ place }) => place)]);
        throw notRead([first, ...others]);
      }
      await this.runs.finish(run);
    }
    return { runId: run.id, ...(await this.runs.count(run)) };
  }

  /** One that has been switched off since is compared no more. */
  async #compareAt(run: ReconcileRun, request: Comparison, at: PlaceOfRun): Promise<void> {
    const provider = this.providers.find(at.provider);
    if (provider && at.side === 'theirs') await this.#theirs(run, request, provider, at);
    if (!provider || request.signal?.aborted) return;
    await this.#ours(run, request, at.side === 'ours' ? at : { ...at, from: null });
  }

  async #theirs(
    run: ReconcileRun,
    request: Comparison,
    provider: PaymentProvider,
    at: PlaceOfRun,
  ): Promise<void> {
    const { name } = provider;
    const sql = onDataSource(this.dataSource);
    const { signal } = request;
    const reading = { since: new Date(run.since.getTime() - CLOCK_SKEW_MS), from: at.from, signal };
    for await (const { payments, next } of readLedger(provider, reading)) {
      const { ours, ids } = await readOurs(sql, run, name, payments);
      for (const theirs of payments) {
        for (const finding of comparePayment(ours(theirs), theirs)) {
          if (isOver(request, finding)) return;
          await this.#tell(run, request, finding);
        }
      }
      const side = next === null ? 'ours' : 'theirs';
      const place = { ...at, side, from: next } as const;
      await this.runs.save(run, { place, checked: payments.length, seen: ids });
      if (request.signal?.aborted) return;
    }
  }

  /** Payments that the provider has told us of, and that are not in its ledger. */
  async #ours(run: ReconcileRun, request: Comparison, at: PlaceOfRun): Promise<void> {
    const sql = onDataSource(this.dataSource);
    for await (const { findings, next } of readOursOnly(sql, run, at.provider, at.from)) {
      for (const finding of findings) {
        if (isOver(request, finding)) return;
        await this.#tell(run, request, finding);
      }
      const place = { ...at, side: 'ours', from: next } as const;
      await this.runs.save(run, { place, checked: findings.length, seen: [] });
      if (request.signal?.aborted) return;
    }
  }

  async #tell(run: ReconcileRun, request: Comparison, finding: Finding): Promise<void> {
    const { fix, ...difference } = finding;
    const outcome = await this.#settle(request, finding);
    const state = await this.runs.note(run, finding, outcome);
    await request.onDifference({
      ...difference,
      fixable: fix !== undefined,
      fixed: state === 'fixed',
      failed: outcome === 'failed',
      closed: state === 'closed',
    });
  }

  /** A database that is away ends the run where this is noted; whatever else fails is of this one alone. */
  async #settle({ fixFor, failures }: Comparison, finding: Finding): Promise<FixOutcome> {
    if (!fixFor || !finding.fix) return 'left';
    try {
      return (await this.fixes.apply(finding.fix, fixFor)) ? 'fixed' : 'left';
    } catch (error) {
      failures.push({ finding, error });
      return 'failed';
    }
  }
}

interface Failure {
  readonly finding: Finding;
  readonly error: unknown;
}

/** A request, and what of it could not be settled so far. */
interface Comparison extends ReconcileRequest {
  readonly failures: Failure[];
}

/** Settling takes its time, and a page has many: comparing does not. */
function isOver({ fixFor, signal }: ReconcileRequest, { fix }: Finding): boolean {
  return fixFor !== undefined && fix !== undefined && signal?.aborted === true;
}

function notSettled({ finding, error }: Failure, count: number): Error {
  const { paymentId, orderId } = finding;
  const what = `${count} could not be settled; the first: payment ${paymentId} of order ${orderId}`;
  return new Error(what, { cause: error });
}
