import 'reflect-metadata';
import { Test } from '@nestjs/testing';
import { Client, Pool } from 'pg';
import { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database';
import {
  fromDrizzle,
  fromKnex,
  fromPg,
  fromPrisma,
  fromTypeOrm,
  type HostPostgres,
  MayNotMigrateError,
  NoPostgresError,
  TimeoutModule,
} from '../public';

/** What TimeoutModule says as it does not start. */
async function saidBy(postgres: HostPostgres): Promise<Error> {
  const module = Test.createTestingModule({
    imports: [TimeoutModule.forRoot({ postgres, driver: 'memory', role: 'arm' })],
  });
  const made = await module
    .setLogger(false as never)
    .compile()
    .catch((error: unknown) => error);
  expect(made).toBeInstanceOf(Error);
  return made as Error;
}

describe('TimeoutModule, where its options lead to no tables', () => {
  let database: TestDatabase;
  beforeAll(async () => (database = await createTestDatabase()));
  afterAll(() => database?.drop());

  it('tells of a data source that is not initialized what to do', async () => {
    const dataSource = new DataSource({ type: 'postgres', url: database.url });
    const said = await saidBy({ dataSource });
    expect(said.message).toMatch(
      /^TimeoutModule: `postgres.dataSource` is not initialized: `await/,
    );
  });

  it('tells a user who may make no schema the two ways', async () => {
    const owner = new Client({ connectionString: database.url });
    await owner.connect();
    const role = `weak_${process.pid}`;
    await owner.query(`CREATE ROLE ${role} LOGIN PASSWORD 'weak'`);
    const url = new URL(database.url);
    url.username = role;
    url.password = 'weak';
    try {
      const said = await saidBy({ url: url.href });
      expect(said).toBeInstanceOf(MayNotMigrateError);
      expect(said.message).toMatch(
        /^TimeoutModule may not make its tables .*\(permission denied for database .*migrateTimeouts.*`migrate: false`/,
      );
    } finally {
      await owner.query(`DROP ROLE ${role}`);
      await owner.end();
    }
  });

  it('names the option that leads nowhere', async () => {
    const away = await saidBy({ url: 'postgres://shop@127.0.0.1:1/shop' });
    expect(away).toBeInstanceOf(NoPostgresError);
    expect(away.message).toMatch(/^TimeoutModule .* by its option `postgres.url`: .*ECONNREFUSED/);
    // As by a variable of the environment that is not set. No server is on that port.
    const pool = new Pool({ connectionString: undefined, port: 1 });
    expect((await saidBy({ pool })).message).toMatch(
      /option `postgres.pool`, which was made with `connectionString: undefined`: .*ECONNREFUSED/,
    );
    const none = new URL(database.url);
    none.pathname = '/of_nobody';
    expect((await saidBy({ url: none.href })).message).toMatch(
      /option `postgres.url`: .*"of_nobody" does not exist/,
    );
  });
});

it.each([
  ['fromTypeOrm', () => fromTypeOrm(undefined as never)],
  ['fromPg', () => fromPg(null as never)],
  ['fromKnex', () => fromKnex({} as never)],
  ['fromDrizzle', () => fromDrizzle(undefined as never, undefined as never)],
  ['fromPrisma', () => fromPrisma(undefined as never)],
])('%s says what it takes', (name, make) => {
  expect(make).toThrow(TypeError);
  expect(make).toThrow(new RegExp(`^${name} takes the .*, not (undefined|null|object)$`));
});
