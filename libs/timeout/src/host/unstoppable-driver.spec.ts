import 'reflect-metadata';
import { Test } from '@nestjs/testing';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database';
import { MemoryDriver } from '../drivers/memory/memory.driver';
import { NoopLock } from '../locks/noop.lock';
import { Pool } from 'pg';
import { fromPg, getTimeoutsToken, migrateTimeouts, TimeoutModule, type Timeouts } from '../public';

/** Pass at once. */
const LIMITS_MS = [3_000, 10_000];

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await migrateTimeouts({ postgres: { url: database.url } });
});
afterAll(() => database?.drop());

const refusal = new Error('The broker is away');
class Unstoppable extends MemoryDriver {
  override async stop(): Promise<void> {
    await super.stop();
    throw refusal;
  }
}
/** Its broker says nothing, and nobody gives it up. */
const silence = (): Promise<never> => new Promise(() => undefined);
class Silent extends MemoryDriver {
  override stop = silence;
}
class SilentToAll extends Silent {
  override arm = silence;
}

afterEach(() => jest.restoreAllMocks());

/** Closes an application with a driver, or a lock, of its own; answers with what was told meanwhile. */
async function closeWith(Driver: typeof MemoryDriver, Lock = NoopLock): Promise<unknown[][]> {
  const failed = jest.fn();
  const lock = new Lock();
  const close = jest.spyOn(lock, 'close');
  const driver = new Driver({ onError: () => undefined });
  const module = await Test.createTestingModule({
    imports: [
      TimeoutModule.forRoot({
        postgres: { url: database.url },
        driver,
        lock,
        telemetry: { failed },
      }),
    ],
  }).compile();
  await module.init();
  const pool = new Pool({ connectionString: database.url });
  const dueAt = new Date(Date.now() + 60_000);
  const timeouts = module.get<Timeouts>(getTimeoutsToken());
  await timeouts.arm(fromPg(pool), { kind: 'trial-end', subjectId: 'ann', dueAt });
  await pool.end();
  const { setTimeout } = globalThis;
  const atOnce = (run: () => void, ms?: number): NodeJS.Timeout =>
    setTimeout(run, LIMITS_MS.includes(ms ?? 0) ? 0 : ms);
  jest.spyOn(globalThis, 'setTimeout').mockImplementation(atOnce);
  await module.close();
  // It would ring for good beside the test files after this one, and keep their process from ending.
  await MemoryDriver.prototype.stop.call(driver);
  expect(close).toHaveBeenCalledTimes(1);
  return failed.mock.calls;
}

it("ends also where the host's own driver cannot be stopped, and says so", async () => {
  expect(await closeWith(Unstoppable)).toEqual([['stop', refusal]]);
});

const NOT_ARMED = 'Alarms were not armed within 3000 ms';
const NOT_STOPPED = 'The timer driver did not stop within 10000 ms';

it.each([
  ['as it is stopped', Silent, [NOT_STOPPED]],
  ['to anything', SilentToAll, [NOT_ARMED, NOT_STOPPED, NOT_ARMED]],
])('ends also where it does not answer %s', async (_, Driver, said) => {
  const told = await closeWith(Driver);
  expect(told).toEqual(said.map((message) => ['stop', expect.objectContaining({ message })]));
});

class UnclosableLock extends NoopLock {
  override close = (): Promise<never> => Promise.reject(refusal);
}
class SilentLock extends NoopLock {
  override close = silence;
}
const NOT_CLOSED = { message: 'The lock did not close within 3000 ms' };

it.each([
  ['cannot be closed', UnclosableLock, refusal],
  ['does not answer as it is closed', SilentLock, expect.objectContaining(NOT_CLOSED)],
])("ends also where the host's own lock %s, and says so", async (_, Lock, said) => {
  expect(await closeWith(MemoryDriver, Lock)).toEqual([['stop', said]]);
});
