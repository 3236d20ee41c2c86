import type { DueDeadline, FollowUpJudge } from './deadlines/deadline-handler';
import type { TimeoutService } from './timeout.service';
import type { Transaction } from './database/transaction';
import { backoffMs } from './backoff';
import { isContention } from './database/database-errors';

/** Work that is about to be tried, and for the how many-th time. */
export interface Attempt {
  readonly due: DueDeadline;
  readonly attempt: number;
}

/**
 * Arms the next attempt of work that is about to be tried outside the transaction. Whatever
 * happens to this process, the work comes back by that deadline; when it is finished by then, the
 * deadline fires once, changes nothing and is gone. A subject that has a later deadline already
 * gets no second one, so that several reasons to look do not become several rounds.
 */
export async function armNextAttempts(
  tx: Transaction,
  timeouts: TimeoutService,
  attempts: readonly Attempt[],
  pauseMs: (attempt: number) => number = backoffMs,
): Promise<void> {
  const [first] = attempts;
  if (!first) return;
  const latest = new Map<string, Attempt>();
  for (const one of attempts) {
    const other = latest.get(one.due.subjectId);
    if (!other || other.attempt < one.attempt) latest.set(one.due.subjectId, one);
  }
  const [clock] = await tx.rows<{ now: Date; armed: string[] | null }>(
    `SELECT now(), (SELECT array_agg(subject_id) FROM deadlines
                     WHERE kind = $1 AND due_at > now() AND subject_id = ANY ($2::uuid[])) AS armed`,
    [first.due.kind, [...latest.keys()]],
  );
  const { now, armed } = clock as { now: Date; armed: string[] | null };
  for (const subjectId of armed ?? []) latest.delete(subjectId);
  await timeouts.arm(
    tx,
    [...latest.values()].map(({ due: { kind, subjectId, version }, attempt }) => ({
      kind,
      subjectId,
      version: version + 1,
      dueAt: new Date(now.getTime() + pauseMs(attempt)),
    })),
  );
}

/** What became of an attempt that did not fail: `nothing` where nobody answered, or none was needed. */
export type Attempted = 'succeeded' | 'nothing';

/**
 * Attempts that wait for somebody outside: at most `limit` at once in this process, and one
 * subject never twice at the same time. What fails or is dropped comes back by its deadline.
 */
export class AttemptQueue {
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #waiting: (() => void)[] = [];
  #busy = 0;
  #stopped = false;

  constructor(
    private readonly limit: number,
    private readonly attempt: (subjectId: string) => Promise<Attempted>,
    private readonly onError: (error: unknown) => void,
    /** True for what others are to blame for, who are at the same things: like locks of theirs, it is no failure. */
    private readonly isBusy: (error: unknown) => boolean = () => false,
  ) {}

  /** Resolves when each of these was attempted, failed or was dropped; never rejects. */
  async run(subjectIds: Iterable<string>, judge?: FollowUpJudge): Promise<void> {
    await Promise.all([...new Set(subjectIds)].map((subjectId) => this.#start(subjectId, judge)));
  }

  /** Drops what waits and takes nothing new; what is under way ends by itself. */
  stop(): void {
    this.#stopped = true;
  }

  /** Resolves when what was under way or waited at this moment has ended; never rejects. */
  async ended(): Promise<void> {
    await Promise.all(this.#underWay.values());
  }

  #start(subjectId: string, judge: FollowUpJudge | undefined): Promise<void> {
    const known = this.#underWay.get(subjectId);
    if (known) return known;
    const work = this.#inTurn(subjectId, judge).finally(() => this.#underWay.delete(subjectId));
    this.#underWay.set(subjectId, work);
    return work;
  }

  async #inTurn(subjectId: string, judge: FollowUpJudge | undefined): Promise<void> {
    if (this.#busy < this.limit) this.#busy += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      if (this.#stopped) return;
      if ((await this.attempt(subjectId)) === 'succeeded') judge?.succeeded(subjectId);
    } catch (error) {
      // Nothing is wrong with it: it comes back by its deadline.
      if (isContention(error) || this.isBusy(error)) return;
      this.onError(error);
      judge?.failed(subjectId, error);
    } finally {
      // The turn goes to whoever waits longest, or back.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#busy -= 1;
    }
  }
}
