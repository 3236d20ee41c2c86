import 'reflect-metadata';
import { Test } from '@nestjs/testing';
import { Pool } from 'pg';
import { CloseTargetModule, migrateCloseTargets } from '../../libs/orders/src/targets';
import { migrateTimeouts, TimeoutModule } from '../../libs/timeout/src/public';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { LedgerProvider } from '../support/ledger-provider';
import { NUMBERED_TABLES, NumberedOrders } from '../support/numbered-shop';

/** A shop that has not run the step of the deployment which makes the tables of its close targets. */

let database: TestDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = new Pool({ connectionString: database.url });
  await pool.query(NUMBERED_TABLES);
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

async function boot(): Promise<void> {
  const postgres = { url: database.url };
  const module = await Test.createTestingModule({
    imports: [
      TimeoutModule.forRoot({ postgres, driver: 'memory', migrate: false }),
      CloseTargetModule.forRoot({
        ...{ targets: [NumberedOrders], payments: [new LedgerProvider('acme')] },
      }),
    ],
  }).compile();
  module.useLogger(false);
  await module.init();
  await module.close();
}

it.each([
  ['has none', () => migrateTimeouts({ postgres: { url: database.url } }), 'has no tables'],
  [
    'has those of an older version',
    async () => {
      await migrateCloseTargets({ postgres: { url: database.url } });
      await pool.query('ALTER TABLE lastcall.target_orders DROP COLUMN error');
    },
    'of an older version',
  ],
])('is told what makes them where its schema %s', async (_, make, what) => {
  await make();
  const error: unknown = await boot().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'missing_tables' });
  const { message } = error as Error;
  expect(message).toContain('schema "lastcall"');
  expect(message).toContain(what);
  expect(message).toContain('migrateCloseTargets({ postgres, schema })');
});

it('starts once they are whole', async () => {
  await pool.query('ALTER TABLE lastcall.target_orders ADD COLUMN error text');
  await boot();
});
