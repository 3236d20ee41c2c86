import type { Claimant, DeadlineHandler, DueDeadline } from './deadline-handler';
import type { DrainParts } from './drain-parts';
import { claimDue, putBackDeadlines, takeTurn } from './deadlines';
import { Pace, paceDefaults, type PaceOptions } from './pace';
import { pause } from './pause';
import { isSubjectsFault, setAside } from './subject-failure';
import { inTransaction, type Transaction } from './transaction';

export interface DrainOptions extends PaceOptions {
  /** A drainer that waits longer for its turn goes on without: who has it may hang. */
  readonly turnPatienceMs: number;
  /** After so many failures a subject is held for an operator. */
  readonly maxFailures: number;
}

export const drainDefaults: DrainOptions = {
  ...paceDefaults,
  turnPatienceMs: 1_000,
  maxFailures: 8,
};

/** What a drain did: `found = changed + lost + putBack`; `failed` were put aside with backoff. */
export interface DrainCounts {
  found: number;
  changed: number;
  lost: number;
  putBack: number;
  failed: number;
}

/** Somebody else holds the subject: look again after this long. */
const CONTENDED_RETRY_MS = 100;
/** A drainer without a turn asks again after so long. */
const TURN_RETRY_MS = 50;

/** After a batch: more may be due, nothing more is, or the drainers of others are at it. */
type BatchOutcome = 'more' | 'all' | 'no turn';

/**
 * Empties one kind's due deadlines, batch after batch. One drain at a time in a process: rings
 * that arrive meanwhile share the one under way plus one more round. In a burst the drainers of
 * all processes take turns.
 *
 * A batch that fails is tried again at half its size, down to the one subject that fails; that
 * one backs off and is held in the end, so that it cannot stop its neighbours.
 */
export class Drain {
  #current: Promise<DrainCounts> | undefined;
  #next: Promise<DrainCounts> | undefined;
  /** What the next round was asked for. */
  #asked: { readonly by: Claimant; readonly overdueByMs: number } | undefined;
  /** What handlers do after their commits, such as asking a provider. */
  readonly #afterwards = new Set<Promise<void>>();
  /** Locks on their way back. The next batch has other subjects, so it need not wait for them. */
  readonly #releasing = new Set<Promise<void>>();
  readonly #pace: Pace;
  #isBursting = false;

  constructor(
    readonly kind: string,
    private readonly handler: DeadlineHandler,
    private readonly parts: DrainParts,
    private readonly options: DrainOptions,
  ) {
    this.#pace = new Pace(handler.maxBatch, options);
  }

  /** Handles everything that has been due for `overdueByMs`; resolves when nothing is left. */
  run(by: Claimant, overdueByMs = 0): Promise<DrainCounts> {
    if (!this.#current) return (this.#current = this.#round(by, overdueByMs));
    // The round under way may have looked already, so what rang now needs another one. Of those
    // who share it, the one who asked for the least overdue decides: a ring must not wait behind a
    // sweep that leaves fresh deadlines to the rings.
    if (!this.#asked || overdueByMs < this.#asked.overdueByMs) this.#asked = { by, overdueByMs };
    this.#next ??= this.#current.then(
      () => this.#follow(),
      () => this.#follow(),
    );
    return this.#next;
  }

  /** True while more is due than one batch takes. */
  get isBursting(): boolean {
    return this.#isBursting;
  }

  /** Waits for the drain under way and for what follows its commits; errors are its caller's. */
  async idle(): Promise<void> {
    while (this.#current || this.#afterwards.size > 0) {
      await Promise.allSettled([this.#current, this.#next, ...this.#afterwards]);
    }
  }

  #follow(): Promise<DrainCounts> {
    const { by, overdueByMs } = this.#asked as { by: Claimant; overdueByMs: number };
    this.#next = this.#asked = undefined;
    return (this.#current = this.#round(by, overdueByMs));
  }

  async #round(by: Claimant, overdueByMs: number): Promise<DrainCounts> {
    const total: DrainCounts = { found: 0, changed: 0, lost: 0, putBack: 0, failed: 0 };
    const drainer = async (): Promise<void> => {
      for (let waitedMs = 0; ;) {
        const inTurn = waitedMs < this.options.turnPatienceMs;
        const outcome = await this.#batch(by, overdueByMs, total, inTurn);
        if (outcome === 'all') return;
        if (outcome === 'no turn') await pause(TURN_RETRY_MS);
        waitedMs = outcome === 'no turn' ? waitedMs + TURN_RETRY_MS : 0;
      }
    };
    try {
      // The second drainer starts only when the first found a full batch: an idle ring costs one query.
      if ((await this.#batch(by, overdueByMs, total, false)) === 'more') {
        this.#isBursting = true;
        await Promise.all(Array.from({ length: this.#pace.drainers }, drainer));
      }
      return total;
    } finally {
      this.#isBursting = false;
      await Promise.all(this.#releasing);
      this.#current = undefined;
    }
  }

  /** Handles one batch; `inTurn`: only where one of the turns is free. */
  async #batch(
    by: Claimant,
    overdueByMs: number,
    total: DrainCounts,
    inTurn: boolean,
  ): Promise<BatchOutcome> {
    const { batch: limit, drainers, restMs } = this.#pace;
    let claimed: readonly DueDeadline[] = [];
    let hasTurn = true;
    const claim = async (tx: Transaction): Promise<readonly DueDeadline[]> => {
      if (inTurn) hasTurn = await takeTurn(tx, this.kind, drainers);
      if (!hasTurn) return [];
      // Having the turn, so that nobody else makes use of the rest.
      if (inTurn && restMs > 0) await pause(restMs);
      claimed = await claimDue(tx, this.kind, limit, overdueByMs);
      this.#pace.claimed(claimed, limit, this.parts.clock.nowMs());
      return claimed;
    };
    try {
      const due = await this.#handle(by, claim, total);
      if (!hasTurn) return 'no turn';
      if (due.length > 0) this.#startAfterwards(due);
      return due.length === limit ? 'more' : 'all';
    } catch (error) {
      if (!isSubjectsFault(error)) throw error;
      this.parts.telemetry.batchFailed(this.kind, limit, error);
      if (limit > 1) this.#pace.failed(limit);
      // The claim itself fails, also for one: no subject is to blame, and trying on would not end.
      else if (claimed.length === 0) throw error;
      else {
        for (const poisoned of claimed) {
          if (await setAside(this.parts, poisoned, error, this.options.maxFailures))
            total.failed += 1;
        }
      }
      return 'more';
    }
  }

  /** Not waited for: a provider that takes its time must not hold up rings and sweeps. */
  #startAfterwards(due: readonly DueDeadline[]): void {
    if (!this.handler.afterCommit) return;
    const work = this.handler
      .afterCommit(due)
      .catch((error: unknown) => this.parts.telemetry.failed(`after ${this.kind}`, error))
      .finally(() => this.#afterwards.delete(work));
    this.#afterwards.add(work);
  }

  async #handle(
    by: Claimant,
    claim: (tx: Transaction) => Promise<readonly DueDeadline[]>,
    total: DrainCounts,
  ): Promise<readonly DueDeadline[]> {
    let release = async (): Promise<void> => undefined;
    try {
      let startedMs = 0;
      const due = await inTransaction(this.parts.dataSource, async (tx) => {
        await release(); // of an attempt that was rolled back
        const due = await claim(tx);
        if (due.length === 0) return due;
        const { mine, contended, giveBack } = await this.#lockAll(due);
        release = giveBack;
        startedMs = performance.now();
        const result = await this.handler.handle(mine, tx, by);
        const putBack = [...(result.putBack ?? []), ...contended];
        await putBackDeadlines(tx, putBack);
        tx.afterCommit(() => {
          this.parts.alarms.ensure(putBack);
          total.found += due.length;
          total.changed += result.changed;
          total.lost += result.lost;
          total.putBack += putBack.length;
        });
        return due;
      });
      // From the first row it locked to its commit: the time for which a customer may have to wait.
      if (due.length > 0) this.#pace.took(due.length, performance.now() - startedMs);
      return due;
    } finally {
      const releasing = release().finally(() => this.#releasing.delete(releasing));
      this.#releasing.add(releasing);
    }
  }

  async #lockAll(due: readonly DueDeadline[]): Promise<{
    mine: readonly DueDeadline[];
    contended: readonly DueDeadline[];
    giveBack: () => Promise<void>;
  }> {
    const keyOf = new Map(due.map((one) => [one, this.handler.lockKey(one.subjectId)]));
    const keys = [...new Set([...keyOf.values()].filter((key) => key !== undefined))];
    if (keys.length === 0) return { mine: due, contended: [], giveBack: async () => undefined };
    const held = await this.parts.lock.acquireFree(keys);
    this.parts.telemetry.locked(held.outcome);
    const isMine = (one: DueDeadline): boolean => {
      const key = keyOf.get(one);
      return key === undefined || held.keys.has(key);
    };
    const again = new Date(this.parts.clock.nowMs() + CONTENDED_RETRY_MS);
    return {
      mine: due.filter(isMine),
      contended: due.filter((one) => !isMine(one)).map((one) => ({ ...one, dueAt: again })),
      giveBack: () => held.release(),
    };
  }
}
