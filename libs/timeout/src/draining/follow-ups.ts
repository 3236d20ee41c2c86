import type { ClaimedBatch } from './claimed-batch';
import type { DeadlineHandler, DueDeadline, FollowUpJudge } from '../deadlines/deadline-handler';
import type { TimeoutTelemetry } from '../telemetry';

/**
 * What a handler does after its commits, such as asking a provider. Batches do not wait for it: a
 * provider that takes its time must not hold up rings and sweeps.
 */
export class FollowUps {
  readonly #underWay = new Set<Promise<void>>();

  constructor(
    private readonly kind: string,
    private readonly handler: DeadlineHandler,
    private readonly telemetry: Pick<TimeoutTelemetry, 'failed'>,
    private readonly judge: FollowUpJudge,
  ) {}

  /** Begins what follows a batch, for those of it that were not put aside. */
  begin(claimed: ClaimedBatch, aside: readonly DueDeadline[]): void {
    if (!this.handler.afterCommit) return;
    const putAside = new Set(aside);
    const handled = claimed.each.filter((one) => !putAside.has(one));
    if (handled.length === 0) return;
    const work = this.handler
      .afterCommit(handled, this.judge)
      .catch((error: unknown) => this.telemetry.failed(`after ${this.kind}`, error))
      .finally(() => this.#underWay.delete(work));
    this.#underWay.add(work);
  }

  get areUnderWay(): boolean {
    return this.#underWay.size > 0;
  }

  /** Resolves at once when nothing is under way. */
  async ended(): Promise<void> {
    await Promise.all(this.#underWay);
  }
}
