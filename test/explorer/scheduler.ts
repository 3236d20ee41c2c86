import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import { slowness } from '../support/slowness';

/** Somebody who does something: a request, a worker's ring, an operator. */
export interface Actor {
  readonly name: string;
  /** Which process it runs in; a crash takes all actors of one with it. */
  readonly process: number;
}

interface Parked {
  readonly actor: Actor;
  readonly label: string;
  readonly isTimer: boolean;
  /** After how long a timer fires by itself; 0 for what is none. */
  readonly afterMs: number;
  /** The backend that it asks, if it is one. */
  readonly pid?: number | undefined;
  readonly go: () => void;
}

interface Operation {
  readonly pid: number | undefined;
  isBlocked: boolean;
}

/** Which of these backends wait for a lock of another one. */
export type FindBlocked = (pids: readonly number[]) => Promise<ReadonlySet<number>>;

const QUIET_TURNS = 3;
/** A statement that takes longer than this is looked at: does it wait for somebody's lock? */
const LOOK_AFTER_MS = 3;
/** So long nobody does anything who is waited for. */
export const STUCK_MS = 8_000;
const MAX_STEPS = 3_000;

/**
 * Runs actors one step at a time. A step ends where an actor awaits the database, the provider,
 * a lock or a timer; which parked step comes next is the schedule's choice, and nothing else moves
 * until that step has ended or waits for a lock that somebody else has.
 */
export class Scheduler {
  readonly trace: string[] = [];
  readonly #actors = new AsyncLocalStorage<Actor>();
  /** Whoever crashed: they take no further step, whenever an answer may still come. */
  readonly #dead = new WeakSet<Actor>();
  #everybody: readonly Actor[] = [];
  readonly #unfinished = new Set<Actor>();
  #parked: Parked[] = [];
  /** Timers that were still to fire when everybody was done. */
  #left: Parked[] = [];
  readonly #operations = new Set<Operation>();
  #activity = 0;
  #isOn = false;
  #last: Actor | undefined;

  /** Told of how much time passes where everybody waits for nothing else. */
  waited: (ms: number) => void = () => undefined;

  constructor(private readonly findBlocked: FindBlocked) {}

  get current(): Actor | undefined {
    return this.#isOn ? this.#actors.getStore() : undefined;
  }

  /** Runs all actors to their end, as the schedule says; choices beyond its end are 0. */
  async run(
    actors: readonly { readonly actor: Actor; readonly act: () => Promise<void> }[],
    schedule: readonly number[],
  ): Promise<void> {
    this.#isOn = true;
    this.trace.length = 0;
    this.#everybody = actors.map(({ actor }) => actor);
    for (const { actor, act } of actors) {
      this.#unfinished.add(actor);
      void this.#actors.run(actor, async () => {
        await this.step('starts', async () => undefined);
        await act();
        this.#unfinished.delete(actor);
      });
    }
    try {
      for (let n = 0; await this.#isMore(); n++) {
        if (n > MAX_STEPS) throw new Error(`Not done after ${MAX_STEPS} steps`);
        this.#resume(schedule[n] ?? 0);
      }
    } finally {
      this.#isOn = false;
      this.#left = this.#parked.filter(({ isTimer }) => isTimer);
      this.#parked = [];
      this.#unfinished.clear();
      this.#operations.clear();
    }
  }

  /** After a run: time goes on for what was left behind in the background, what is due first before the rest. */
  fireLeftTimers(): void {
    for (const { go } of this.#left.splice(0).sort((a, b) => a.afterMs - b.afterMs)) go();
  }

  /** One step of the current actor: parks, does `act` when chosen. Outside a run, just `act`. */
  async step<T>(label: string, act: () => Promise<T>, pid?: number): Promise<T> {
    const actor = this.#actors.getStore();
    if (actor && this.#dead.has(actor)) return new Promise<never>(() => undefined);
    if (!actor || !this.#isOn) return act();
    await this.#park(actor, label, pid);
    const operation: Operation = { pid, isBlocked: false };
    this.#operations.add(operation);
    try {
      return await act();
    } finally {
      this.#operations.delete(operation);
      this.#activity += 1;
      // Whoever crashed meanwhile never hears of the answer.
      if (this.#dead.has(actor)) await new Promise(() => undefined);
    }
  }

  /** Something that is waited for and is no step of its own, such as a connection being made. */
  begin(): () => void {
    if (!this.current) return () => undefined;
    const operation: Operation = { pid: undefined, isBlocked: false };
    this.#operations.add(operation);
    return () => {
      this.#operations.delete(operation);
      this.#activity += 1;
    };
  }

  /** True for an actor whose process has crashed: what it still hears is nobody's business. */
  get isDead(): boolean {
    const actor = this.#actors.getStore();
    return actor !== undefined && this.#dead.has(actor);
  }

  /** A timer of the product: fires when the schedule says. Returns how to clear it. */
  timer(afterMs: number, fire: () => void): (() => void) | undefined {
    const actor = this.current;
    if (!actor) return undefined;
    // What it begins is a step of its actor's, as all that this does.
    const go = (): void => this.#actors.run(actor, fire);
    const label = `timer of ${Math.round(afterMs)} ms`;
    const parked: Parked = { actor, label, isTimer: true, afterMs, go };
    this.#parked.push(parked);
    return () => (this.#parked = this.#parked.filter((one) => one !== parked));
  }

  /** The actors of this process take no further step. */
  kill(process: number): void {
    // Also of those who have their answer, what they left behind in the background ends.
    for (const actor of this.#everybody) {
      if (actor.process !== process) continue;
      this.#dead.add(actor);
      this.#unfinished.delete(actor);
    }
    this.#parked = this.#parked.filter(({ actor }) => actor.process !== process);
    this.#activity += 1;
  }

  /** False when all actors are done, and what they left behind in the background too. */
  async #isMore(): Promise<boolean> {
    const giveUpAtMs = performance.now() + STUCK_MS * slowness();
    for (;;) {
      await this.#settle();
      const isOver = this.#unfinished.size === 0 && this.#parked.every(({ isTimer }) => isTimer);
      if (this.#parked.length > 0 && !isOver) return true;
      if (isOver && this.#operations.size === 0) return false;
      // A deadlock, which Postgres ends, or something that is not under control.
      if (performance.now() > giveUpAtMs) throw new Error('Nobody can take a step');
      await delay(2);
    }
  }

  #park(actor: Actor, label: string, pid?: number): Promise<void> {
    this.#activity += 1;
    const step = { actor, label, isTimer: false, afterMs: 0, pid };
    return new Promise((go) => this.#parked.push({ ...step, go }));
  }

  /** What may be next: of the statements of one connection the first, as they go out in their order. */
  #next(): Parked[] {
    const asked = new Set<number>();
    return this.#parked.filter(({ pid }) => {
      if (pid === undefined) return true;
      const isFirst = !asked.has(pid);
      asked.add(pid);
      return isFirst;
    });
  }

  /** 0 goes on with the actor that went last, so that a shrunken schedule switches seldom. */
  #resume(choice: number): void {
    const rank = ({ actor, isTimer }: Parked): number =>
      isTimer ? 2 : actor === this.#last ? 0 : 1;
    const ordered = this.#next().sort((a, b) => rank(a) - rank(b));
    const chosen = ordered[choice % ordered.length] as Parked;
    if (ordered.every(({ isTimer }) => isTimer)) this.waited(Math.ceil(chosen.afterMs));
    this.#parked = this.#parked.filter((one) => one !== chosen);
    this.#last = chosen.actor;
    this.trace.push(`${chosen.actor.name}: ${chosen.label}`);
    chosen.go();
  }

  /** Waits until nothing moves: every operation has ended or waits for somebody's lock. */
  async #settle(): Promise<void> {
    for (const operation of this.#operations) operation.isBlocked = false;
    for (let quiet = 0; quiet < QUIET_TURNS;) {
      const before = this.#activity;
      await turn();
      const waiting = [...this.#operations].filter(({ isBlocked }) => !isBlocked);
      if (waiting.length > 0) await this.#watch(waiting);
      quiet = before === this.#activity && waiting.length === 0 ? quiet + 1 : 0;
    }
  }

  async #watch(waiting: readonly Operation[]): Promise<void> {
    const lookAtMs = performance.now() + LOOK_AFTER_MS;
    const before = this.#activity;
    while (performance.now() < lookAtMs) {
      await turn();
      if (this.#activity !== before) return;
    }
    const pids = waiting.map(({ pid }) => pid).filter((pid) => pid !== undefined);
    const blocked = await this.findBlocked(pids);
    for (const operation of waiting) operation.isBlocked = blocked.has(operation.pid ?? 0);
  }
}
