import { TimeLimitError, withTimeLimit } from '../time-limit';
import type { Alarm, Survey, TimerDriver } from '../timer-driver';

/** A driver answers within two seconds, by its contract: one that has not after so long may never. */
const ANSWERS_WITHIN_MS = 15_000;

/** What of a driver keeps alarms in its store. */
export type StoreCalls = Pick<TimerDriver, 'abilities' | 'arm' | 'disarm' | 'survey'>;

/**
 * A driver, each call of which ends: whoever waits for one that never answers would arm nothing any more.
 * What is given up may still be done, or wait in the driver's memory until its broker is back: one that leaves
 * a call to arm unanswered is asked with a single alarm from then on, until it answers.
 */
export class AnsweredCalls implements StoreCalls {
  #isSilent = false;

  constructor(private readonly driver: TimerDriver) {}

  get abilities(): TimerDriver['abilities'] {
    return this.driver.abilities;
  }

  /** @throws {TimeLimitError} as the others */
  async arm(alarms: readonly Alarm[]): Promise<void> {
    const first = this.#isSilent ? 1 : 0;
    for (const some of [alarms.slice(0, first), alarms.slice(first)]) {
      if (some.length > 0) await this.#arm(some);
    }
  }

  disarm(ids: readonly string[]): Promise<void> {
    return withTimeLimit(this.driver.disarm(ids), ANSWERS_WITHIN_MS, 'Alarms were not disarmed');
  }

  async survey(): Promise<Survey> {
    const asked = this.driver.survey();
    const survey = await withTimeLimit(asked, ANSWERS_WITHIN_MS, 'The timer store did not answer');
    return { generation: survey.generation, alarms: () => untilItStops(survey.alarms()) };
  }

  async #arm(alarms: readonly Alarm[]): Promise<void> {
    let isAnswered = false;
    const call = async (): Promise<void> => {
      try {
        await this.driver.arm(alarms);
      } finally {
        // Also one that was given up, hours later.
        isAnswered = true;
        this.#isSilent = false;
      }
    };
    try {
      await withTimeLimit(call(), ANSWERS_WITHIN_MS, 'Alarms were not armed');
    } finally {
      this.#isSilent = !isAnswered;
    }
  }
}

/** With one timer for all of them: a store may hold a million. */
async function* untilItStops(
  alarms: AsyncIterable<Alarm> | Iterable<Alarm>,
): AsyncGenerator<Alarm> {
  // A host's own may be a plain list.
  const each =
    Symbol.asyncIterator in alarms ? alarms[Symbol.asyncIterator]() : alarms[Symbol.iterator]();
  let giveUp: (why: Error) => void = () => undefined;
  const timer = setTimeout(
    () => giveUp(new TimeLimitError('Alarms were not listed', ANSWERS_WITHIN_MS)),
    ANSWERS_WITHIN_MS,
  );
  try {
    for (;;) {
      const next = await new Promise<IteratorResult<Alarm>>((resolve, reject) => {
        giveUp = reject;
        Promise.resolve(each.next()).then(resolve, reject);
      });
      if (next.done) return;
      yield next.value;
      timer.refresh();
    }
  } finally {
    clearTimeout(timer);
    // One that stands still would not end either.
    void Promise.resolve(each.return?.()).catch(() => undefined);
  }
}
