import { Alarms } from './alarms';
import { DatabaseClock } from '../database/database-clock';
import { silentTelemetry } from '../telemetry';
import { DeadlineStore } from '../testing/deadline-store';
import { TRUSTED_ABILITIES } from '../testing/trusted-abilities';
import type { Alarm, TimerAbilities, TimerDriver } from '../timer-driver';
import { TimerStoreHealth } from './timer-store-health';

const KIND = 'payment';
const PAGE = 1_000;
/** A page is armed in four parts. */
const ARMED_AT_ONCE = 250;
/** Pages of deadlines, each of which has an alarm. */
const PAGES = 4;
const LOOK_THROUGH_EVERY = 6;

/** Holds what it was told to arm, by id, and counts what is read of it. */
class CountingDriver implements TimerDriver {
  readonly name = 'counting';
  readonly held = new Map<string, Alarm>();
  listed = 0;
  onList = (): void => undefined;

  constructor(readonly abilities: TimerAbilities) {}

  async start(): Promise<void> {}
  async stop(): Promise<void> {}
  async disarm(): Promise<void> {}

  async arm(alarms: readonly Alarm[]): Promise<void> {
    for (const alarm of alarms) this.held.set(alarm.id, alarm);
  }

  async survey() {
    return { generation: 'one', alarms: () => this.#alarms() };
  }

  async *#alarms() {
    for (const alarm of this.held.values()) {
      this.onList();
      this.listed += 1;
      yield alarm;
    }
  }
}

let store: DeadlineStore;
beforeAll(async () => (store = await DeadlineStore.open()));
afterAll(() => store?.close());
afterEach(() => jest.restoreAllMocks());
beforeEach(async () => {
  await store.empty();
  await store.add(
    KIND,
    Array.from({ length: PAGES * PAGE }, (_, index) => 18_000 + index),
  );
});

async function create(abilities: Partial<TimerAbilities> = {}) {
  const driver = new CountingDriver({ ...TRUSTED_ABILITIES, ...abilities });
  const clock = new DatabaseClock(store.dataSource);
  await clock.measure();
  const options = { granularity: 'subject', horizonMs: 60_000, kinds: [KIND] } as const;
  const health = new TimerStoreHealth(silentTelemetry);
  return { driver, alarms: new Alarms(store.dataSource, driver, clock, health, options) };
}

/** Tells to end while the statement with this number is under way, and counts them all. */
function endAt(statement: number) {
  const ending = new AbortController();
  const asks = store.dataSource.createQueryRunner.bind(store.dataSource);
  const sent = jest.spyOn(store.dataSource, 'createQueryRunner').mockImplementation((mode) => {
    if (sent.mock.calls.length === statement) ending.abort();
    return asks(mode);
  });
  return { signal: ending.signal, sent: () => sent.mock.calls.length };
}

describe('Catching up, told to end', () => {
  it.each([
    ['far deadlines are brought near', 1, 0],
    ['the first page of what is due is read', 2, ARMED_AT_ONCE],
  ])('while %s, reads nothing more, and leaves it to the next', async (_, statement, armed) => {
    const { alarms, driver } = await create();
    const { signal, sent } = endAt(statement);
    expect(await alarms.catchUp(signal)).toBe(armed);
    expect({ sent: sent(), held: driver.held.size }).toEqual({ sent: statement, held: armed });
    await alarms.catchUp();
    expect(driver.held.size).toBe(PAGES * PAGE);
  });

  it('while it reads what the store should hold, compares nothing, and mends it later', async () => {
    const { alarms, driver } = await create();
    for (let turn = 1; turn < LOOK_THROUGH_EVERY; turn++) await alarms.catchUp();
    const [lost] = driver.held.keys();
    driver.held.delete(lost as string);
    const { signal, sent } = endAt(2);
    expect(await alarms.catchUp(signal)).toBe(0);
    expect({ sent: sent(), listed: driver.listed }).toEqual({ sent: 2, listed: 0 });
    expect(driver.held.size).toBe(PAGES * PAGE - 1);
    for (let turn = 1; turn <= LOOK_THROUGH_EVERY; turn++) await alarms.catchUp();
    expect(driver.held.size).toBe(PAGES * PAGE);
  });

  it('while it reads what the store holds, takes nothing for lost', async () => {
    const { alarms, driver } = await create();
    for (let turn = 1; turn < LOOK_THROUGH_EVERY; turn++) await alarms.catchUp();
    const ending = new AbortController();
    driver.onList = () => ending.abort();
    expect(await alarms.catchUp(ending.signal)).toBe(0);
    expect(driver.listed).toBe(1);
  });

  it('while it arms what others have placed for this process, reads no page more', async () => {
    const { alarms, driver } = await create({ scope: 'process' });
    await alarms.catchUp();
    driver.held.clear();
    const { signal, sent } = endAt(2);
    expect(await alarms.catchUp(signal)).toBe(0);
    expect({ sent: sent(), held: driver.held.size }).toEqual({ sent: 2, held: ARMED_AT_ONCE });
    await alarms.catchUp();
    expect(driver.held.size).toBe(PAGES * PAGE);
  });
});
