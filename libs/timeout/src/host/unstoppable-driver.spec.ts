import 'reflect-metadata';
import { Test } from '@nestjs/testing';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database';
import { MemoryDriver } from '../drivers/memory/memory.driver';
import { NoopLock } from '../locks/noop.lock';
import { migrateTimeouts, TimeoutModule } from '../public';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await migrateTimeouts({ postgres: { url: database.url } });
});
afterAll(() => database?.drop());

it("ends also where the host's own driver cannot be stopped, and says so", async () => {
  const refusal = new Error('The broker is away');
  class Unstoppable extends MemoryDriver {
    override async stop(): Promise<void> {
      await super.stop();
      throw refusal;
    }
  }
  const failed = jest.fn();
  const lock = new NoopLock();
  const close = jest.spyOn(lock, 'close');
  const module = await Test.createTestingModule({
    imports: [
      TimeoutModule.forRoot({
        postgres: { url: database.url },
        driver: new Unstoppable({ onError: () => undefined }),
        lock,
        telemetry: { failed },
      }),
    ],
  }).compile();
  await module.init();
  await module.close();
  expect(failed.mock.calls).toEqual([['stop', refusal]]);
  expect(close).toHaveBeenCalledTimes(1);
});
