/**
 * Drainers beside the first one of their kind, of all kinds of a process together. Each takes a
 * connection of the pool that they share with sweeps, clock and brake: slow kinds may not have it all.
 */
export class FurtherDrainers {
  #underWay = 0;

  constructor(private readonly most: number) {}

  /**
   * Those of two kinds at once, each by so many drainers: for so many such a pool has connections. One where
   * each kind has a single drainer, which may hang.
   */
  static ofTwoKinds(drainers: number): FurtherDrainers {
    return new FurtherDrainers(Math.max(1, 2 * (drainers - 1)));
  }

  /** False where there are enough: the first of the kind goes on alone. */
  take(): boolean {
    if (this.#underWay >= this.most) return false;
    this.#underWay += 1;
    return true;
  }

  giveBack(): void {
    this.#underWay -= 1;
  }
}
