import { nobodysContext } from '@app/timeout';
import {
  type GroupCommitOptions,
  HeldElsewhere,
  type HowToCarryOut,
  tookTooLong,
} from './group-commit-options';
import { Contention } from './group-commit-contention';
import { isOld, type Waiting } from './group-commit-waiting';
import { HeldNeeds } from './held-needs';

/** Whoever was passed over so often goes before those behind it, even where that idles a lane. */
const MAX_PASSED_OVER = 4;
/** So long a request waits for what somebody else holds; the answer then comes within 3 s. */
const PATIENCE_MS = 2_000;
/** Of those that may wait, so many at the most for what others hold: the rest is for strangers. */
const SHARE_OF_HELD = 0.1;

/** Of a group, or of that which it is a part of. */
type Tried = Omit<HowToCarryOut, 'sinceMs'>;
/** Has waited for all that it may. */
const IMPATIENT = { haveWaited: true, waitsFor: undefined, turn: 'none' } as const;

/**
 * Carries out concurrent requests in groups, one transaction a group: those that arrive while a
 * commit is under way are taken together by the next. A lone request starts at once. A group that
 * fails is tried again in halves, so that one poisoned request cannot fail its neighbours, for as long as
 * these have time. One that needs what somebody else holds waits beside the groups, and holds up nobody; one that
 * has found it held again and again waits for it in a group of those who need the same, one such group at a time.
 * A group is carried out in no request's context.
 */
export class GroupCommit<Request, Result> {
  #waiting: Waiting<Request, Result>[] = [];
  #busyLanes = 0;
  #newestBeganMs = -Infinity;
  #nextLane: NodeJS.Timeout | undefined;
  #idle: (() => void)[] = [];
  /** What the groups under way need. */
  readonly #inUse = new Set<string>();
  readonly #held = new HeldNeeds();
  readonly #contention: Contention;
  #isOneAlone = false;
  /** What a group is waiting for. */
  #waitedFor: string | undefined;
  #isOneExcluding = false;
  #isTurnOfOne = false;
  #wakeUp: NodeJS.Timeout | undefined;

  constructor(
    /** Carries out a group and answers in its order; what rejects has had no effect. */
    private readonly carryOut: (
      requests: readonly Request[],
      how: HowToCarryOut,
    ) => Promise<readonly (Result | HeldElsewhere)[]>,
    private readonly options: GroupCommitOptions<Request>,
  ) {
    this.#contention = new Contention(this.#held, options.canWaitFor);
  }

  /** Resolves after the commit of the group that the request was part of. */
  submit(request: Request): Promise<Result> {
    const needs = this.options.needsOf?.(request) ?? [];
    const { maxWaiting } = this.options;
    if (this.#waiting.length >= maxWaiting) return Promise.reject(this.options.overflow());
    const held = this.#held.obstaclesTo(needs);
    if (held.length > 0 && this.#waiting.length >= maxWaiting * SHARE_OF_HELD) {
      return Promise.reject(this.#tiredOf(held));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({
        request,
        key: this.options.keyOf?.(request),
        needs,
        sinceMs: performance.now(),
        passedOver: 0,
        held,
        tries: 0,
        resolve,
        reject,
      });
      this.#fillLanes();
    });
  }

  /** Resolves when no request is waiting or under way. */
  async drained(): Promise<void> {
    if (this.#isIdle) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  get #isIdle(): boolean {
    return this.#busyLanes === 0 && this.#waiting.length === 0;
  }

  #fillLanes(): void {
    if (this.#busyLanes >= this.options.lanes || this.#isOneExcluding || !this.#hasTurn(0)) return;
    this.#busyLanes += 1;
    this.#newestBeganMs = performance.now();
    // The group is cut after the requests that this turn of the event loop still brings.
    setImmediate(() => void nobodysContext.run(() => this.#runLane()));
  }

  async #runLane(): Promise<void> {
    let group = this.#cutGroup();
    while (group.length > 0) {
      this.#newestBeganMs = performance.now();
      const all = new Set(group.flatMap((one) => one.needs));
      const isAlone = this.#held.areSuspect([...all]);
      const waitsFor = isAlone ? undefined : this.#contention.waitsFor(group[0]);
      const waits = waitsFor !== undefined;
      // While it waits it has nothing: others may have what it needs besides.
      const needs = waits ? [] : all;
      const turn = isAlone || waits ? 'none' : this.#contention.turn;
      if (isAlone) this.#isOneAlone = true;
      if (waits) this.#waitedFor = waitsFor;
      if (turn === 'alone') this.#isOneExcluding = true;
      for (const need of needs) this.#inUse.add(need);
      const beganMs = performance.now();
      await this.#settle(group, { haveWaited: false, waitsFor, turn, beganMs });
      for (const need of needs) this.#inUse.delete(need);
      if (isAlone) this.#isOneAlone = false;
      if (waits) this.#waitedFor = undefined;
      if (turn === 'alone') this.#isOneExcluding = false;
      group = this.#hasTurn(1) ? this.#cutGroup() : [];
    }
    this.#busyLanes -= 1;
    this.#wakeUpLater();
    if (!this.#isIdle) return;
    // Nobody is there whose turn would come.
    clearTimeout(this.#nextLane);
    this.#nextLane = undefined;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Whether a lane may begin a group beside `own` and the others; if not yet, it is asked again in time. */
  #hasTurn(own: 0 | 1): boolean {
    const { nextLaneAfterMs = 0, maxGroup } = this.options;
    if (this.#busyLanes <= own || this.#waiting.length >= maxGroup) return true;
    const inMs = this.#newestBeganMs + nextLaneAfterMs - performance.now();
    if (inMs <= 0) return true;
    if (this.#nextLane) return false;
    this.#nextLane = setTimeout(() => {
      this.#nextLane = undefined;
      if (this.#waiting.length > 0) this.#fillLanes();
    }, Math.ceil(inMs));
    return false;
  }

  /** What goes next: those who may fail their neighbours by themselves, in turns with all others. */
  #cutGroup(): Waiting<Request, Result>[] {
    // Others stand aside for all who wait here.
    if (this.#isOneExcluding) return [];
    this.#held.forgetPast();
    const isTurnOfOne = this.#isTurnOfOne;
    const first = isTurnOfOne ? this.#cutOne() : this.#cutMany();
    if (first.length > 0) this.#isTurnOfOne = !isTurnOfOne;
    if (first.length > 0) return first;
    return isTurnOfOne ? this.#cutMany() : this.#cutOne();
  }

  /** The oldest of those who go alone, one at a time: it may wait for what it would fail others by. */
  #cutOne(): Waiting<Request, Result>[] {
    if (this.#isOneAlone) return [];
    const nth = this.#waiting.findIndex(({ needs }) => {
      if (!this.#held.areSuspect(needs) || this.#held.heldOf(needs).length > 0) return false;
      return !needs.some((need) => this.#inUse.has(need));
    });
    return nth < 0 ? [] : this.#waiting.splice(nth, 1);
  }

  /** The oldest requests that can go on: not with their like, nor with what another group needs. */
  #cutMany(): Waiting<Request, Result>[] {
    const { maxGroup } = this.options;
    const keys = new Set<string | undefined>();
    const reserved = new Set<string>();
    const group: Waiting<Request, Result>[] = [];
    const later: Waiting<Request, Result>[] = [];
    let looked = 0;
    const nowMs = performance.now();
    for (const waiting of this.#waiting) {
      if (group.length === maxGroup) break;
      looked += 1;
      const obstacles = this.#held.obstaclesTo(waiting.needs);
      if (obstacles.length > 0) waiting.held = obstacles;
      if (waiting.held.length > 0 && nowMs - waiting.sinceMs > PATIENCE_MS) {
        waiting.reject(this.#tiredOf(waiting.held));
        continue;
      }
      const isLike = waiting.key !== undefined && keys.has(waiting.key);
      keys.add(waiting.key);
      const isOfOthers = group[0] && !this.#mayJoin(group[0], waiting, nowMs);
      if (isLike || isOfOthers || obstacles.length > 0 || this.#isSecondToWait(waiting))
        later.push(waiting);
      else if (!waiting.needs.some((need) => this.#inUse.has(need) || reserved.has(need))) {
        group.push(waiting);
      } else {
        waiting.passedOver += 1;
        if (waiting.passedOver > MAX_PASSED_OVER) waiting.needs.forEach((n) => reserved.add(n));
        later.push(waiting);
      }
    }
    this.#waiting = [...later, ...this.#waiting.slice(looked)];
    return group;
  }

  #mayJoin(
    first: Waiting<Request, Result>,
    other: Waiting<Request, Result>,
    nowMs: number,
  ): boolean {
    if (isOld(first, nowMs) !== isOld(other, nowMs)) return false;
    const waitsFor = this.#contention.waitsFor(first);
    if (waitsFor === undefined) return this.#contention.waitsFor(other) === undefined;
    return other.needs.includes(waitsFor);
  }

  /** It is not passed over: what it waits for is no other group's. */
  #isSecondToWait(waiting: Waiting<Request, Result>): boolean {
    if (this.#waitedFor === undefined) return false;
    if (waiting.needs.includes(this.#waitedFor)) return true;
    return this.#contention.waitsFor(waiting) !== undefined;
  }

  #tiredOf(held: readonly string[]): Error {
    return this.options.tired?.(held) ?? this.options.overflow();
  }

  /** The time of what is held elsewhere comes without a request that brings it. */
  #wakeUpLater(): void {
    clearTimeout(this.#wakeUp);
    const inMs = this.#held.nextLookInMs;
    if (this.#waiting.length === 0 || inMs === undefined) return;
    this.#wakeUp = setTimeout(() => this.#fillLanes(), Math.max(1, inMs));
  }

  async #settle(group: readonly Waiting<Request, Result>[], tried: Tried): Promise<void> {
    const areOld = group.some((waiting) => isOld(waiting, performance.now()));
    try {
      const requests = group.map(({ request }) => request);
      const sinceMs = Math.min(...group.map((waiting) => waiting.sinceMs));
      const results = await this.carryOut(requests, { ...tried, sinceMs });
      const again: Waiting<Request, Result>[] = [];
      group.forEach((waiting, index) => {
        const result = results[index] as Result | HeldElsewhere;
        if (result instanceof HeldElsewhere) {
          this.#contention.found(waiting, result, tried);
          again.push(waiting);
          return;
        }
        this.#held.got(waiting.needs);
        waiting.resolve(result);
      });
      this.#putBack(again);
    } catch (error) {
      if (group.length === 1 || this.options.isEverybodys(error)) {
        for (const { reject } of group) reject(error);
        if (this.options.isForAllWaiting?.(error) && !areOld) {
          for (const { reject } of this.#waiting.splice(0)) reject(error);
        }
        return;
      }
      const isHeld = this.options.isHeld?.(error) ?? false;
      if (!isHeld && tookTooLong(tried)) {
        const { tookTooLong: refusal = this.options.overflow } = this.options;
        for (const { reject } of group) reject(refusal(error));
        return;
      }
      const middle = Math.ceil(group.length / 2);
      // The parts wait for no lock any more: they are tried for as long as a group that has not.
      const have = isHeld ? { ...IMPATIENT, beganMs: performance.now() } : tried;
      await this.#settlePart(group.slice(0, middle), have);
      await this.#settlePart(group.slice(middle), have);
    }
  }

  /** Of a group that has failed; without those who need what is known by now to fail groups. */
  async #settlePart(part: readonly Waiting<Request, Result>[], tried: Tried): Promise<void> {
    const suspects = part.filter(({ needs }) => this.#held.areSuspect(needs));
    this.#putBack(suspects);
    const others = part.filter((waiting) => !suspects.includes(waiting));
    if (others.length > 0) await this.#settle(others, tried);
  }

  #putBack(again: readonly Waiting<Request, Result>[]): void {
    if (again.length > 0) this.#waiting = [...again, ...this.#waiting];
  }
}
