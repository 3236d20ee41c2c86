import { AnsweredCalls } from './answered-calls';
import { HandDriver } from '../testing/hand-driver';
import type { Alarm, Survey } from '../timer-driver';

const ALARMS = [1, 2].map((index) => ({ id: `slot-${index}`, at: new Date(index) }));

/** As a host may write one: what it says is not its own property, and it needs itself for it. */
class StoredSurvey implements Survey {
  readonly #held: Alarm[] = ALARMS;

  constructor(private readonly listed: (held: Alarm[]) => unknown) {}

  get generation(): string {
    return `of ${this.#held.length}`;
  }

  alarms(): AsyncIterable<Alarm> {
    return this.listed(this.#held) as AsyncIterable<Alarm>;
  }
}

const driverWith = (survey: Survey): HandDriver =>
  Object.assign(new HandDriver(), { survey: () => Promise.resolve(survey) });

it.each<[string, (held: Alarm[]) => unknown]>([
  [
    'an asynchronous generator',
    async function* (held) {
      yield* held;
    },
  ],
  [
    'a generator',
    function* (held) {
      yield* held;
    },
  ],
  ['an array', (held) => held],
  ['promises', (held) => held.map((alarm) => Promise.resolve(alarm))],
])("a host's survey is read whose alarms are %s, and which is of a class", async (_, listed) => {
  const survey = await new AnsweredCalls(driverWith(new StoredSurvey(listed))).survey();
  expect(survey.generation).toBe('of 2');
  const seen: Alarm[] = [];
  for await (const alarm of survey.alarms()) seen.push(alarm);
  expect(seen).toEqual(ALARMS);
});
