import { Brake, type BrakeOptions } from './brake';
import { type BrakeFacts, CLOCK_JUMPED } from './brake-table';
import { ClockJumps } from './clock-jumps';
import { DeadlineStore } from '../testing/deadline-store';

const KIND = 'payment';
const DUE = 150;
const HOUR_MS = 3_600_000;

describe('Brake by a suspicion', () => {
  let store: DeadlineStore;
  let cause: string | undefined;
  let isOver: boolean;
  let told: BrakeFacts[];
  let uptimeMs: number;
  let machines = 0;
  let jumps: ClockJumps;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());
  beforeEach(async () => {
    await store.empty();
    await store.add(KIND, Array<number>(DUE).fill(-1_000));
    [cause, isOver, told] = ['provider_fails', false, []];
    uptimeMs = 10 * HOUR_MS;
    jumps = new ClockJumps(store.dataSource, () => uptimeMs, `machine-${++machines}`);
  });

  const brake = (options: Partial<BrakeOptions> = {}, clock?: ClockJumps): Brake =>
    new Brake(
      store.dataSource,
      {
        ...{ kinds: [KIND], share: 0.2, suspicion: () => cause, isOver: () => isOver },
        ...{ onEngaged: (facts) => told.push(facts), ...options },
      },
      clock,
    );
  // The column keeps milliseconds, and rounds: on for so long is certain only of one that was cut.
  const since = (ago: string): Promise<unknown> =>
    store.rows(
      `UPDATE timeout_brakes SET engaged_at = date_trunc('milliseconds', now()) - interval '${ago}'`,
    );
  const rows = () =>
    store.rows(
      'SELECT cause, released_by AS by, release_reason AS reason FROM timeout_brakes ORDER BY engaged_at',
    );

  it('ends once what was suspected is seen to be over, a minute later at the earliest', async () => {
    const one = brake();
    await one.refresh();
    expect(one.isOn).toBe(true);
    cause = undefined;
    // Nobody has asked the provider since: it is not known to answer.
    await since('10 minutes');
    await one.refresh();
    expect([one.isOn, await one.isReleased()]).toEqual([true, false]);
    isOver = true;
    await since('30 seconds');
    await one.refresh();
    expect([one.isOn, await one.isReleased()]).toEqual([true, false]);
    await since('60 seconds');
    await one.refresh();
    expect([one.isOn, await one.isEngaged()]).toEqual([false, false]);
    const over = { cause: 'provider_fails', by: 'brake', reason: 'it is over: provider_fails' };
    expect(await rows()).toEqual([over]);
    expect(told).toHaveLength(1);
  });

  it('ends without a sweep, for every process', async () => {
    const [one, other] = [brake(), brake({ suspicion: () => undefined, isOver: () => false })];
    await one.refresh();
    await other.refresh();
    expect([one.isOn, other.isOn, await other.isReleased()]).toEqual([true, true, false]);
    [cause, isOver] = [undefined, true];
    await since('1 minute');
    expect(await one.isReleased()).toBe(true);
    expect(await other.isReleased()).toBe(true);
  });

  it('is seen to be over by another process than the one that suspected', async () => {
    await brake().refresh();
    cause = undefined;
    const other = brake({ isOver: (of) => of === 'provider_fails' });
    await since('1 minute');
    await other.refresh();
    expect(await other.isEngaged()).toBe(false);
  });

  it('is put on anew at once where it fails again: nobody has looked at what is due', async () => {
    const one = brake();
    await one.refresh();
    [cause, isOver] = [undefined, true];
    await since('1 minute');
    await one.refresh();
    expect(one.isOn).toBe(false);
    const next = brake({ suspicion: () => 'provider_fails' });
    await next.refresh();
    expect(next.isOn).toBe(true);
    expect(told).toHaveLength(2);
  });

  it('is over by what was seen since it began', async () => {
    const asked: number[] = [];
    const one = brake({ isOver: (_, onForMs) => asked.push(onForMs) < 0 });
    await one.refresh();
    await since('90 seconds');
    await one.isReleased();
    expect(asked).toHaveLength(2);
    expect(asked[0]).toBeLessThan(90_000);
    expect(asked[1]).toBeGreaterThanOrEqual(90_000);
  });

  it('ends as well for one that only reads, which may be the only one that asks the provider', async () => {
    await brake().refresh();
    const reader = brake({ suspicion: () => undefined });
    expect(await reader.stops()).toBe(true);
    isOver = true;
    await since('1 minute');
    expect(await reader.stops()).toBe(false);
  });

  it('asks Postgres once for each who reads while it is on, however many do at once', async () => {
    const one = brake();
    await one.refresh();
    cause = undefined;
    const asked = jest.spyOn(store.dataSource, 'createQueryRunner');
    const readers = Array.from({ length: 100 }, () => one.stops());
    expect(new Set(await Promise.all(readers))).toEqual(new Set([true]));
    expect(asked).toHaveBeenCalledTimes(100);
    asked.mockRestore();
  });

  it('counts nothing anew while it is on, however long what was suspected lasts', async () => {
    const one = brake({}, jumps);
    await one.refresh();
    uptimeMs += 1_000;
    const asked = jest.spyOn(store.dataSource, 'createQueryRunner');
    expect(await one.stops()).toBe(true);
    expect(asked).toHaveBeenCalledTimes(1);
    asked.mockRestore();
  });

  it('has each process forget what it suspected, whoever saw that it is over', async () => {
    const one = brake({ onReleased: () => (cause = undefined) }, jumps);
    await one.refresh();
    await since('1 minute');
    await brake({ suspicion: () => undefined, isOver: () => true }).refresh();
    uptimeMs += 1_000;
    await one.refresh();
    expect([one.isOn, cause]).toEqual([false, undefined]);
    expect(await rows()).toHaveLength(1);
  });

  it('is judged by what is suspected then, where it could not be judged before', async () => {
    const one = brake();
    await one.judge();
    expect(one.wantsToJudge(new Date(), one.uptimeMs())).toBe(true);
    const away = jest.spyOn(store.dataSource, 'createQueryRunner').mockImplementation(() => {
      throw new Error('away');
    });
    await expect(one.judge()).rejects.toThrow('away');
    away.mockRestore();
    cause = undefined;
    await one.refresh();
    expect([one.isOn, told]).toEqual([false, []]);
  });

  it('waits for an operator where the clock jumps meanwhile, who is shown that', async () => {
    const one = brake({}, jumps);
    await one.refresh();
    uptimeMs -= HOUR_MS;
    await one.refresh();
    [cause, isOver] = [undefined, true];
    await since('1 minute');
    await one.refresh();
    expect([one.isOn, await one.isReleased()]).toEqual([true, false]);
    expect(told.map((facts) => facts.cause)).toEqual(['provider_fails', CLOCK_JUMPED]);
    expect(await rows()).toEqual(
      expect.arrayContaining([
        { cause: 'provider_fails', by: 'brake', reason: 'another takes its place: clock_jumped' },
        { cause: CLOCK_JUMPED, by: null, reason: null },
      ]),
    );
  });

  it('ends by no clock that has jumped: that is judged first, with this one still on', async () => {
    const one = brake({}, jumps);
    await one.refresh();
    [cause, isOver] = [undefined, true];
    await since('1 minute');
    uptimeMs -= HOUR_MS;
    expect(await one.isReleased()).toBe(true);
    expect(await rows()).toEqual([{ cause: 'provider_fails', by: null, reason: null }]);
    await one.refresh();
    expect(told.map((facts) => facts.cause)).toEqual(['provider_fails', CLOCK_JUMPED]);
    expect(await one.isReleased()).toBe(false);
  });

  it('is over by nothing that was seen before a jump, also of one that makes little due', async () => {
    const asked: number[] = [];
    const one = brake({ isOver: (_, onForMs) => asked.push(onForMs) < 0 }, jumps);
    await one.refresh();
    // What waits by now makes a small share of what is due.
    await store.add(KIND, Array<number>(DUE * 10).fill(10 * HOUR_MS));
    cause = undefined;
    await since('1 hour');
    uptimeMs -= HOUR_MS;
    await one.refresh();
    uptimeMs += 70_000;
    await one.isReleased();
    expect([one.isOn, asked.slice(-2)]).toEqual([true, [0, 70_000]]);
    expect(told).toHaveLength(1);
  });

  it('does not take a jump for known that comes while something else is judged', async () => {
    const one = brake({}, jumps);
    await one.refresh();
    await since('1 minute');
    const now = (await store.rows<{ now: Date }>('SELECT clock_timestamp() AS now'))[0]
      ?.now as Date;
    uptimeMs += 1_000;
    // The clock's own answer, as of a batch: the provider is suspected still.
    expect(one.wantsToJudge(new Date(now.getTime() + 1_000), uptimeMs)).toBe(true);
    uptimeMs -= HOUR_MS;
    expect(await one.isReleased()).toBe(true);
    await one.judge();
    [cause, isOver] = [undefined, true];
    await one.refresh();
    expect(told.map((facts) => facts.cause)).toEqual(['provider_fails', CLOCK_JUMPED]);
  });

  it('is on for what is suspected by then, where that is never the same', async () => {
    let times = 0;
    const one = brake({ suspicion: () => `failed ${++times} times` });
    await one.refresh();
    expect([one.isOn, told.length]).toEqual([true, 1]);
  });

  it.each<[string, string, Partial<BrakeOptions>]>([
    ['after a jump of the clock', CLOCK_JUMPED, {}],
    ['of which nobody knows when it is over', 'mail_down', { isOver: undefined }],
  ])('waits for an operator %s', async (_, of, options) => {
    [cause, isOver] = [undefined, true];
    await store.rows(
      `INSERT INTO timeout_brakes (cause, kind, due, waiting, engaged_at)
       VALUES ($1, $2, 150, 150, now() - interval '1 hour')`,
      [of, KIND],
    );
    const one = brake(options);
    await one.refresh();
    expect([one.isOn, await one.isReleased()]).toEqual([true, false]);
  });
});
