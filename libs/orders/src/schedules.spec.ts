import type { TimeoutService } from '@app/timeout';
import type { DigestHistory } from './events/digest-history';
import type { RelayEvents } from './events/relay-events';
import type { SealHistory } from './events/seal-history';
import type { WatchInvariants } from './invariants/watch-invariants';
import type { OrdersTelemetry } from './order/telemetry';
import type { Retention } from './retention';
import type { CarryOutErrands } from './errands/carry-out-errands';
import type { DeliverWebhooks } from './deliveries/deliver-webhooks';
import type { FanOutEvents } from './deliveries/fan-out';
import type { WarnShipments } from './fulfilment/warn-shipments';
import type { ForgetHeld } from './ops/forget-held';
import type { WatchWaits } from './ops/watch-waits';
import type { FoldStock } from './stock/fold-stock';
import { Schedules } from './schedules';

const MINUTE = 60_000;

beforeEach(() => jest.useFakeTimers({ now: new Date('2026-03-14T03:00:00Z') }));
afterEach(() => jest.useRealTimers());

/** Schedules over use cases that only count their turns. */
function startSchedules() {
  const turns = {
    fold: 0,
    relay: 0,
    seals: 0,
    digest: 0,
    invariants: 0,
    waits: 0,
    held: 0,
    shipments: 0,
    fanOut: 0,
    deliveries: 0,
    errands: 0,
    retention: 0,
  };
  const load = { isBursting: false, turnTakesMs: 0 };
  const folding = { isBehind: false, isResting: false, hasMuch: async () => false };
  const sealing = { isBehind: false };
  const failures: [string, unknown][] = [];
  const stops = new Map<string, () => boolean>();
  const count = (what: keyof typeof turns) => ({
    runOnce: async (givesWay?: () => boolean) => {
      turns[what] += 1;
      if (givesWay) stops.set(what, givesWay);
      if (what === 'retention') throw new Error('no database');
      if (load.turnTakesMs > 0) {
        await new Promise((resolve) => setTimeout(resolve, load.turnTakesMs));
      }
    },
  });
  const schedules = new Schedules(
    Object.assign(folding, count('fold')) as unknown as FoldStock,
    count('relay') as unknown as RelayEvents,
    Object.assign(sealing, count('seals')) as unknown as SealHistory,
    count('digest') as unknown as DigestHistory,
    count('invariants') as unknown as WatchInvariants,
    count('waits') as unknown as WatchWaits,
    count('held') as unknown as ForgetHeld,
    count('shipments') as unknown as WarnShipments,
    count('retention') as unknown as Retention,
    count('fanOut') as unknown as FanOutEvents,
    {
      start: async () => void (turns.deliveries += 1),
      ended: async () => undefined,
    } as unknown as DeliverWebhooks,
    count('errands') as unknown as CarryOutErrands,
    load as unknown as TimeoutService,
    {
      failed: (what: string, error: unknown) => failures.push([what, error]),
    } as unknown as OrdersTelemetry,
  );
  schedules.onApplicationBootstrap();
  return { schedules, turns, load, folding, sealing, failures, stops };
}

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

describe('the schedules', () => {
  it('give each kind of work its turns, until they stop', async () => {
    const { schedules, turns } = startSchedules();
    await pass(30 * MINUTE);
    expect(turns).toEqual({
      fold: 30 * 60 * 4,
      relay: 30 * 60 * 4,
      seals: 6,
      digest: 30 * 12,
      invariants: 6,
      waits: 30,
      held: 360,
      shipments: 30,
      fanOut: 30 * 60 * 2,
      deliveries: 30 * 60 * 2,
      errands: 30 * 60 * 2,
      retention: 3,
    });
    const before = { ...turns };
    await schedules.beforeApplicationShutdown();
    await pass(30 * MINUTE);
    expect(turns).toEqual(before);
  });

  it('end what may be long after its batch, whatever waits, when they are told to end', async () => {
    const { schedules, stops } = startSchedules();
    await pass(10 * MINUTE);
    const said = () => Object.fromEntries([...stops].map(([what, stop]) => [what, stop()]));
    const long = ['relay', 'seals', 'digest', 'fold', 'invariants', 'retention', 'fanOut'];
    const all = [...long, 'errands'];
    const each = (is: boolean) => Object.fromEntries(all.map((what) => [what, is]));
    expect(said()).toEqual(each(false));
    await schedules.beforeApplicationShutdown();
    expect(said()).toEqual(each(true));
  });

  it('tell of work that failed by its name', async () => {
    const { failures } = startSchedules();
    await pass(10 * MINUTE);
    expect(failures).toEqual([['retention', new Error('no database')]]);
  });

  it('relay every two seconds and fold every other turn in a burst, and at once after it', async () => {
    const { turns, load } = startSchedules();
    await pass(250);
    load.isBursting = true;
    await pass(10_000);
    expect(turns).toMatchObject({ relay: 1 + 5, fold: 1 + 20 });
    load.isBursting = false;
    await pass(250);
    expect(turns).toMatchObject({ relay: 1 + 5 + 1, fold: 1 + 20 + 1 });
  });

  it('fold every other turn in a burst where folding itself takes a turn, too', async () => {
    const { turns, load } = startSchedules();
    Object.assign(load, { isBursting: true, turnTakesMs: 240 });
    await pass(10_000);
    expect(turns.fold).toBe(20);
  });

  it('fold each turn in a burst that gives back much', async () => {
    const { turns, load, folding } = startSchedules();
    await pass(250);
    load.isBursting = true;
    folding.hasMuch = async () => true;
    await pass(10_000);
    expect(turns.fold).toBe(1 + 40);
  });

  it('fold nothing while folding rests, and at once after it', async () => {
    const { turns, folding } = startSchedules();
    folding.isResting = true;
    await pass(1_000);
    expect(turns.fold).toBe(0);
    folding.isResting = false;
    await pass(250);
    expect(turns.fold).toBe(1);
  });

  it('seal again within seconds what a turn has not come to, but in no burst', async () => {
    const { turns, load, sealing } = startSchedules();
    sealing.isBehind = true;
    await pass(MINUTE);
    expect(turns.seals).toBe(12);
    load.isBursting = true;
    await pass(5 * MINUTE);
    expect(turns.seals).toBe(12 + 1);
    load.isBursting = false;
    await pass(10_000);
    expect(turns.seals).toBe(12 + 1 + 2);
    sealing.isBehind = false;
    await pass(10 * MINUTE);
    expect(turns.seals).toBe(12 + 1 + 2 + 2);
  });

  it('give way to folding that is behind as to closing', async () => {
    const { turns, folding, stops } = startSchedules();
    await pass(250);
    folding.isBehind = true;
    await pass(10_000);
    expect(turns.relay).toBe(1 + 5);
    expect(turns.fanOut).toBe(0);
    const giveWay = ['relay', 'digest'].map((what) => stops.get(what)?.());
    expect(giveWay).toEqual([true, true]);
    folding.isBehind = false;
    await pass(500);
    expect(turns).toMatchObject({ relay: 1 + 5 + 2, fanOut: 1 });
  });
});
