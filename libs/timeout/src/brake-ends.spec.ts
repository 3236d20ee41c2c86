import { Brake, type BrakeOptions, CLOCK_JUMPED } from './brake';
import type { BrakeFacts } from './brake-table';
import { DeadlineStore } from './testing/deadline-store';

const KIND = 'payment';
const DUE = 150;

describe('Brake by a suspicion', () => {
  let store: DeadlineStore;
  let cause: string | undefined;
  let isOver: boolean;
  let told: BrakeFacts[];
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());
  beforeEach(async () => {
    await store.empty();
    await store.add(KIND, Array<number>(DUE).fill(-1_000));
    [cause, isOver, told] = ['provider_fails', false, []];
  });

  const brake = (options: Partial<BrakeOptions> = {}): Brake =>
    new Brake(store.dataSource, {
      ...{ kinds: [KIND], share: 0.2, suspicion: () => cause, isOver: () => isOver },
      ...{ onEngaged: (facts) => told.push(facts), ...options },
    });
  const since = (ago: string): Promise<unknown> =>
    store.rows(`UPDATE timeout_brakes SET engaged_at = now() - interval '${ago}'`);
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
    await since('59 seconds');
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
