import { Logger, type Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import type { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from './database';
import { findPlace } from '../../libs/timeout/src/host/connections';
import { migratePlace } from '../../libs/timeout/src/host/migrate-timeouts';
import { TimeoutModule } from '../../libs/timeout/src/public';

/** Applications of a host on a database of this file's, each closed after its test. */
export function hostApps() {
  const open: TestingModule[] = [];
  let database: TestDatabase;
  beforeAll(async () => (database = await createTestDatabase()));
  // Each has connections of its own, of which the server has some hundred.
  afterEach(async () => {
    for (const module of open.splice(0)) await module.close();
  });
  afterAll(() => database?.drop());

  return {
    url: (): string => database.url,

    /** One with these handlers, and options of TimeoutModule's beside its place and driver. */
    start: async (providers: Type[], given: object): Promise<TestingModule> => {
      const module = await Test.createTestingModule({
        imports: [
          TimeoutModule.forRoot({ postgres: { url: database.url }, driver: 'memory', ...given }),
        ],
        providers,
      })
        .setLogger(false as never)
        .compile();
      open.push(module);
      return module;
    },

    /** Somebody else's connection to the tables of deadlines, which are there. */
    beside: async (work: (dataSource: DataSource) => Promise<unknown>): Promise<void> => {
      const place = await findPlace({ url: database.url }, 'lastcall');
      await migratePlace(place);
      const dataSource = await place.open({ name: 'test', connections: 1 });
      try {
        await work(dataSource);
      } finally {
        await dataSource.destroy();
      }
    },
  };
}

/** What is warned of meanwhile. */
export async function warnedOf(work: () => Promise<unknown>): Promise<string[]> {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
  try {
    await work();
    return warn.mock.calls.map(([text]) => String(text));
  } finally {
    warn.mockRestore();
  }
}
