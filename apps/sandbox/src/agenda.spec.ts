import { Agenda } from './agenda';
import { seededRandom } from './random';
import { ManualClock } from './testing/manual-clock';

it('runs entries in the order of their instants, none early', () => {
  const clock = new ManualClock();
  const agenda = new Agenda(clock);
  const random = seededRandom(3);
  const ran: number[] = [];
  const startMs = clock.now();
  for (let count = 0; count < 2000; count += 1) {
    const atMs = startMs + Math.floor(random() * 10_000);
    agenda.schedule(atMs, () => {
      expect(clock.now()).toBe(atMs);
      ran.push(atMs);
    });
  }
  clock.advance(10_000);
  expect(ran).toHaveLength(2000);
  expect(ran).toEqual([...ran].sort((one, other) => one - other));
});

it('runs what is scheduled while it runs, and takes a burst in turns', () => {
  const clock = new ManualClock();
  const agenda = new Agenda(clock);
  let count = 0;
  for (let index = 0; index < 1500; index += 1) agenda.schedule(clock.now(), () => (count += 1));
  agenda.schedule(clock.now() + 1, () => agenda.schedule(clock.now() - 5, () => (count += 1)));
  clock.advance(1);
  expect(count).toBe(1501);
});

it('reaches farther than a timer does, and stops', () => {
  const clock = new ManualClock();
  const agenda = new Agenda(clock);
  const ran: string[] = [];
  const dayMs = 86_400_000;
  agenda.schedule(clock.now() + 40 * dayMs, () => ran.push('far'));
  agenda.schedule(clock.now() + 41 * dayMs, () => ran.push('after the stop'));
  clock.advance(40 * dayMs - 1);
  expect(ran).toEqual([]);
  clock.advance(1);
  agenda.stop();
  clock.advance(2 * dayMs);
  expect(ran).toEqual(['far']);
});
