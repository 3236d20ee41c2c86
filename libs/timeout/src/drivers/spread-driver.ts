import { tagIndexOf } from '../redis/hash-tags';
import type { Alarm, OnRing, Survey, TimerAbilities, TimerDriver } from '../timer-driver';

/** As many as one driver takes at once: each answers in bounded time, and all share this process. */
const CHUNK = 500;

/** A driver for each of these places: the only one, or all of them as one. */
export function spread<Place>(
  places: readonly Place[],
  create: (place: Place) => TimerDriver,
): TimerDriver {
  const [only, ...others] = places.map(create);
  if (!only) throw new Error('There is no place to keep alarms in');
  return others.length === 0 ? only : new SpreadDriver([only, ...others]);
}

/**
 * Several drivers of one kind as one: which of them has an alarm follows from its id alone. In a
 * cluster of Redis each has a hash tag of its own, so that no master carries all alarms.
 */
class SpreadDriver implements TimerDriver {
  readonly name: string;
  readonly abilities: TimerAbilities;

  constructor(private readonly parts: readonly [TimerDriver, ...TimerDriver[]]) {
    this.name = parts[0].name;
    this.abilities = parts[0].abilities;
  }

  start(onRing: OnRing): Promise<void> {
    return this.#each((part) => part.start(onRing));
  }

  stop(): Promise<void> {
    return this.#each((part) => part.stop());
  }

  /** What one place refuses is armed in the others all the same, as far as it was offered them. */
  async arm(alarms: readonly Alarm[]): Promise<void> {
    for (let start = 0; start < alarms.length; start += CHUNK) {
      const shares = this.#shares(alarms.slice(start, start + CHUNK), ({ id }) => id);
      await this.#each((part, index) => part.arm(shares[index] ?? []));
    }
  }

  disarm(ids: readonly string[]): Promise<void> {
    const shares = this.#shares(ids, (id) => id);
    return this.#each((part, index) => part.disarm(shares[index] ?? []));
  }

  /** One place that has lost its data is a loss: all is armed again. */
  async survey(): Promise<Survey> {
    const surveys = await Promise.all(this.parts.map((part) => part.survey()));
    return {
      generation: surveys.map(({ generation }) => generation).join(' '),
      alarms: async function* () {
        for (const survey of surveys) yield* survey.alarms();
      },
    };
  }

  #shares<T>(items: readonly T[], idOf: (item: T) => string): readonly T[][] {
    const shares = this.parts.map((): T[] => []);
    for (const item of items) shares[tagIndexOf(idOf(item), shares.length)]?.push(item);
    return shares;
  }

  /** All of them, whatever one says; then the first error. */
  async #each(call: (part: TimerDriver, index: number) => Promise<void>): Promise<void> {
    const results = await Promise.allSettled(this.parts.map(call));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }
}
