import type { HeldElsewhere, HowToCarryOut } from './group-commit-options';
import type { Waiting } from './group-commit-waiting';
import type { HeldNeeds } from './held-needs';

/** Who holds a thing for milliseconds is not waited for longer than that; who keeps it, is. */
const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 100;
/** Who has found a thing held so often asks the groups of other processes to stand aside: they have it all the time. */
const EXCLUDES_AFTER_TRIES = 3;
/** Where one has asked, all groups do for so long: those that are refused by halves only make others wait. */
const EXCLUDES_FOR_MS = 1_000;
/** Who has found a thing kept so often waits for it in its group: others may have it by turns, each for milliseconds. */
const WAITS_AFTER_TRIES = 2;
/** Where somebody keeps what was waited for, nothing is waited for again that soon: strangers need the lanes. */
const WAITS_AGAIN_AFTER_MS = 5_000;

type Contender = Pick<Waiting<unknown, unknown>, 'needs' | 'held' | 'tries'>;

/**
 * How requests come to what others hold (group-commit.ts): they look again after a pause that grows; where groups of
 * other processes have it all the time, these are asked to stand aside; and what is held all the same is waited for.
 */
export class Contention {
  #excludesUntilMs = -Infinity;
  #waitsFromMs = -Infinity;

  constructor(
    private readonly held: HeldNeeds,
    private readonly canWaitFor: (need: string) => boolean = () => false,
  ) {}

  /** For a group that waits for nothing else. */
  get turn(): 'alone' | 'beside' {
    return performance.now() < this.#excludesUntilMs ? 'alone' : 'beside';
  }

  /** What a group that begins with this one is to wait for. */
  waitsFor(first?: Contender): string | undefined {
    if (!first || first.tries < WAITS_AFTER_TRIES) return undefined;
    if (performance.now() < this.#waitsFromMs) return undefined;
    return first.held.find((need) => this.canWaitFor(need) && this.held.isKept(need));
  }

  /** Somebody else holds what this one needs. */
  found(
    contender: Contender,
    { needs, failsGroups, isKept }: HeldElsewhere,
    { waitsFor }: Pick<HowToCarryOut, 'waitsFor'>,
  ): void {
    if (waitsFor !== undefined && needs.includes(waitsFor)) {
      this.#waitsFromMs = performance.now() + WAITS_AGAIN_AFTER_MS;
    }
    const laterMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** contender.tries);
    contender.tries += 1;
    contender.held = needs;
    // What could not be known before: waited for as what was.
    contender.needs = [...new Set([...contender.needs, ...needs])];
    if (isKept) {
      this.held.keep(needs);
      // Nobody has it who could stand aside. Whom others are in the way of, asks again.
      this.#excludesUntilMs = -Infinity;
    }
    const isTheirs = needs.some((need) => this.canWaitFor(need) && !this.held.isKept(need));
    const presses = isTheirs && contender.tries >= EXCLUDES_AFTER_TRIES;
    if (presses) this.#excludesUntilMs = performance.now() + EXCLUDES_FOR_MS;
    const isNext = presses && contender.tries === EXCLUDES_AFTER_TRIES;
    const isSoon = isNext || this.waitsFor(contender) !== undefined;
    const pauseMs = isSoon ? FIRST_PAUSE_MS : laterMs;
    this.held.hold(needs, pauseMs * (0.5 + Math.random()), failsGroups);
  }
}
