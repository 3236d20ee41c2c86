import { inTransaction, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { LastcallError } from '../order/errors';
import { type Accountable, recordAction } from '../order/operator-action';
import { onDataSource, type Queryable } from '../order/order-rows';
import { uuidv7 } from '../order/uuid';
import type { Finding } from './reconcile-finding';
import type { Place, PlaceOfRun } from './reconcile-places';

export interface ReconcileRun {
  readonly id: string;
  readonly since: Date;
  readonly startedAt: Date;
  readonly place: PlaceOfRun | null;
  readonly finishedAt: Date | null;
}

/** `closed`: an operator has said of the very same difference that it is done with. */
export type FindingState = 'open' | 'fixed' | 'closed';

/** `failed`: settling it was tried, and something of this one was in the way. */
export type FixOutcome = 'left' | 'fixed' | 'failed';

export interface RunCounts {
  /** Payments compared, of either side. */
  readonly checked: number;
  readonly differences: number;
  /** How many of the differences were settled. */
  readonly fixed: number;
  /** How many are left because settling them has failed. */
  readonly failed: number;
  /** How many an operator has closed. */
  readonly closed: number;
}

export interface ClosedRun {
  readonly id: string;
  /** How many differences were closed with it. */
  readonly differences: number;
}

/** A run that was interrupted is gone on with for so long; the ledger moves on. */
const RESUMED_FOR = "interval '1 day'";
/** At night, by the next one: no two are a day apart to the second. */
const GONE_ON_FOR = "interval '30 hours'";
/** Clocks of workers differ by less. */
const FRESH_FOR = "interval '10 minutes'";
const KEPT_FOR = "interval '90 days'";

const COLUMNS = `id, since, started_at AS "startedAt", place, finished_at AS "finishedAt"`;

/** Runs of a comparison, as rows: to go on with, to count, and for an operator to close. */
@Injectable()
export class ReconcileRuns {
  readonly #sql: Queryable;

  constructor(@Inject(DATABASE) private readonly dataSource: DataSource) {
    this.#sql = onDataSource(dataSource);
  }

  async begin(since: Date, isNightly = false): Promise<ReconcileRun> {
    await this.#sql.rows(`DELETE FROM reconcile_runs WHERE started_at < now() - ${KEPT_FOR}`);
    const [run] = await this.#sql.rows<ReconcileRun>(
      `INSERT INTO reconcile_runs (id, since, is_nightly) VALUES ($1, $2, $3) RETURNING ${COLUMNS}`,
      [uuidv7(), since, isNightly],
    );
    return run as ReconcileRun;
  }

  /** @throws {LastcallError} reconcile_run_not_found, reconcile_run_over */
  async resume(id: string): Promise<ReconcileRun> {
    const [run] = await this.#sql.rows<ReconcileRun & { isOld: boolean }>(
      `SELECT ${COLUMNS}, started_at < now() - ${RESUMED_FOR} AS "isOld"
         FROM reconcile_runs WHERE id = $1`,
      [id],
    );
    if (!run) throw notFound(`run ${id}`);
    if (!run.finishedAt && !run.isOld) return run;
    const why = run.finishedAt
      ? 'it has come to its end'
      : 'it was interrupted more than a day ago';
    throw new LastcallError('reconcile_run_over', `Run ${id}: ${why}; begin a new one`);
  }

  /**
   * Tonight's: one that was interrupted since the last, or a new one, also where the last has left ledgers alone that
   * could not be read: the others are compared each night. Undefined where another worker, whose clock is ahead, has
   * just ended it: the books have not changed since.
   */
  async tonight(since: Date): Promise<ReconcileRun | undefined> {
    const [last] = await this.#sql.rows<ReconcileRun & { isFresh: boolean }>(
      `SELECT ${COLUMNS}, started_at > now() - ${FRESH_FOR} AS "isFresh" FROM reconcile_runs
        WHERE is_nightly AND started_at > now() - ${GONE_ON_FOR}
        ORDER BY started_at DESC LIMIT 1`,
    );
    if (last && !last.finishedAt && !last.place?.isUnread) return last;
    return last?.isFresh ? undefined : this.begin(since, true);
  }

  /** What a page has shown, and where the next one begins: together, or not at all. */
  async save(
    { id }: ReconcileRun,
    { place, checked, seen }: { place: PlaceOfRun; checked: number; seen: readonly string[] },
  ): Promise<void> {
    await this.#sql.rows(
      `WITH seen AS (
         INSERT INTO reconcile_seen SELECT $1, unnest($4::uuid[]) ON CONFLICT DO NOTHING)
       UPDATE reconcile_runs SET place = $2, checked = checked + $3 WHERE id = $1`,
      [id, JSON.stringify(place), checked, seen],
    );
  }

  /** All that could be read has been compared, and these ledgers are left. */
  async saveUnread(
    run: ReconcileRun,
    [first, ...rest]: readonly [Place, ...Place[]],
  ): Promise<void> {
    await this.save(run, { place: { ...first, rest, isUnread: true }, checked: 0, seen: [] });
  }

  /** Answers with what it is now: one that was closed before is not open again. */
  async note({ id }: ReconcileRun, finding: Finding, outcome: FixOutcome): Promise<FindingState> {
    const { fix: _, ...facts } = finding;
    const isFixed = outcome === 'fixed';
    const failed = outcome === 'failed';
    const [row] = await this.#sql.rows<{ state: FindingState }>(
      `INSERT INTO reconcile_findings AS f (run_id, key, state, finding)
       SELECT $1, $2, CASE WHEN $4 THEN 'fixed' WHEN EXISTS (
                SELECT FROM reconcile_findings WHERE key = $2 AND state = 'closed')
                THEN 'closed' ELSE 'open' END, $3
       ON CONFLICT (run_id, key) DO UPDATE
          SET state = CASE WHEN $4 THEN 'fixed' ELSE f.state END, finding = excluded.finding
       RETURNING state`,
      [id, keyOf(finding), JSON.stringify({ ...facts, failed }), isFixed],
    );
    return (row as { state: FindingState }).state;
  }

  async finish({ id }: ReconcileRun): Promise<void> {
    await this.#sql.rows(
      `WITH gone AS (DELETE FROM reconcile_seen WHERE run_id = $1)
       UPDATE reconcile_runs SET finished_at = now() WHERE id = $1`,
      [id],
    );
  }

  async count({ id }: ReconcileRun): Promise<RunCounts> {
    const [row] = await this.#sql.rows<RunCounts>(
      `SELECT r.checked, count(f.key)::int AS differences,
              count(*) FILTER (WHERE f.state = 'fixed')::int AS fixed,
              count(*) FILTER (WHERE (f.finding ->> 'failed')::boolean)::int AS failed,
              count(*) FILTER (WHERE f.state = 'closed')::int AS closed
         FROM reconcile_runs r LEFT JOIN reconcile_findings f ON f.run_id = r.id
        WHERE r.id = $1 GROUP BY r.id`,
      [id],
    );
    return row as RunCounts;
  }

  /**
   * An operator has looked at what a run has left, by default the newest, and is done with it: the
   * same differences are told of no more. Also of one that has come to no end, and has left some.
   * @throws {LastcallError} reconcile_run_not_found, reconcile_nothing_open
   */
  async close(id: string | undefined, accountable: Accountable): Promise<ClosedRun> {
    return inTransaction(this.dataSource, async (tx) => {
      const runId = id ?? (await newest(tx));
      if (!runId) {
        const message = 'No comparison has come to its end: nothing is open';
        throw new LastcallError('reconcile_nothing_open', message);
      }
      const [run] = await tx.rows(
        'UPDATE reconcile_runs SET closed_at = now() WHERE id = $1 RETURNING id',
        [runId],
      );
      if (!run) throw notFound(`run ${runId}`);
      const closed = await tx.rows(
        `UPDATE reconcile_findings SET state = 'closed' WHERE run_id = $1 AND state = 'open'
         RETURNING 1`,
        [runId],
      );
      if (closed.length === 0) {
        throw new LastcallError('reconcile_nothing_open', `Run ${runId} has left nothing open`);
      }
      await recordAction(tx, 'reconcile.close', 'reconcile_run', [runId], accountable);
      return { id: runId, differences: closed.length };
    });
  }
}

async function newest(tx: Transaction): Promise<string | undefined> {
  const [row] = await tx.rows<{ id: string }>(
    `SELECT id FROM reconcile_runs r WHERE finished_at IS NOT NULL OR EXISTS (
            SELECT FROM reconcile_findings f WHERE f.run_id = r.id AND f.state = 'open')
      ORDER BY started_at DESC LIMIT 1`,
  );
  return row?.id;
}

function keyOf({ kind, subject, what, paymentId, refundId, providerId, ours, theirs }: Finding) {
  return JSON.stringify([kind, subject, what, paymentId, refundId, providerId, ours, theirs]);
}

function notFound(what: string): LastcallError {
  return new LastcallError('reconcile_run_not_found', `There is no ${what}`);
}
