/** After that nobody knows any more that what is held fails whole groups. */
const SUSPECTED_FOR_MS = 10_000;

/** What was held though all groups of others stood aside is had by none of them: known for so long. */
const KEPT_FOR_MS = 5_000;

/** What requests need and somebody else holds, as far as it is known, and when to look again. */
export class HeldNeeds {
  readonly #held = new Map<string, number>();
  /** Of that what has failed whole groups, and when to forget it. */
  readonly #suspected = new Map<string, number>();
  /** What somebody has who stands aside for nobody, and when to forget it. */
  readonly #kept = new Map<string, number>();

  heldOf(needs: readonly string[]): readonly string[] {
    return this.#held.size === 0 ? [] : needs.filter((need) => this.#held.has(need));
  }

  /** True where a group with any of these may fail as a whole. */
  areSuspect(needs: readonly string[]): boolean {
    return this.#suspected.size > 0 && needs.some((need) => this.#suspected.has(need));
  }

  /** What keeps a request from going with others. */
  obstaclesTo(needs: readonly string[]): readonly string[] {
    if (this.#held.size === 0 && this.#suspected.size === 0) return [];
    return needs.filter((need) => this.#held.has(need) || this.#suspected.has(need));
  }

  /** @param failsGroups true where a whole group has failed by it */
  hold(needs: readonly string[], pauseMs: number, failsGroups: boolean): void {
    const nowMs = performance.now();
    for (const need of needs) {
      this.#held.set(need, Math.max(nowMs + pauseMs, this.#held.get(need) ?? 0));
      if (failsGroups) this.#suspected.set(need, nowMs + SUSPECTED_FOR_MS);
    }
  }

  isKept(need: string): boolean {
    return this.#kept.has(need);
  }

  keep(needs: readonly string[]): void {
    for (const need of needs) this.#kept.set(need, performance.now() + KEPT_FOR_MS);
  }

  /** A request has got them. */
  got(needs: readonly string[]): void {
    for (const known of [this.#suspected, this.#kept]) {
      if (known.size > 0) for (const need of needs) known.delete(need);
    }
  }

  forgetPast(): void {
    const nowMs = performance.now();
    for (const known of [this.#held, this.#suspected, this.#kept]) {
      for (const [need, untilMs] of known) if (untilMs <= nowMs) known.delete(need);
    }
  }

  /** How long until something is to be looked at again, in milliseconds; undefined where nothing is held. */
  get nextLookInMs(): number | undefined {
    if (this.#held.size === 0) return undefined;
    return Math.min(...this.#held.values()) - performance.now();
  }
}
