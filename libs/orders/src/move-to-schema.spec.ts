import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../test/support/database';
import { createDataSource } from './data-source';
import { migrate } from './migrate';
import { moveToSchema } from './move-to-schema';

const suffix = randomBytes(4).toString('hex');
const [SHOP, READER, OF_COLUMNS, OWNER, STRANGER, OF_ANOTHER] = [
  `shop_${suffix}`,
  `reader_${suffix}`,
  `of_columns_${suffix}`,
  `owner_${suffix}`,
  `stranger_${suffix}`,
  `of_another_${suffix}`,
];

describe('moveToSchema', () => {
  let database: TestDatabase;
  let owner: Client;
  beforeAll(async () => {
    database = await createTestDatabase();
    owner = new Client({ connectionString: database.url });
    await owner.connect();
  });
  afterAll(async () => {
    for (const role of [SHOP, READER, OF_COLUMNS, OWNER, STRANGER, OF_ANOTHER]) {
      await owner.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
    await owner.end();
    await database.drop();
  });

  it('lets in whoever may use a table, as it moves it', async () => {
    const inPublic = { DATABASE_URL: database.url, DATABASE_SCHEMA: 'public' };
    await migrate({ ...inPublic, DATABASE_ROLE: 'lastcall_app' });
    await owner.query(`
      CREATE ROLE ${SHOP} IN ROLE lastcall_app;
      CREATE ROLE ${READER};
      CREATE ROLE ${STRANGER};
      CREATE ROLE ${OF_COLUMNS};
      CREATE ROLE ${OF_ANOTHER};
      CREATE ROLE ${OWNER};
      ALTER TABLE public.products OWNER TO ${OWNER};
      GRANT SELECT ON public.orders TO ${READER};
      GRANT SELECT (id, status) ON public.orders TO ${OF_COLUMNS};
      CREATE SCHEMA lastcall;
      CREATE TABLE lastcall.of_another ();
      GRANT SELECT ON lastcall.of_another TO ${OF_ANOTHER}`);

    const dataSource = await createDataSource(
      { DATABASE_URL: database.url },
      'the move',
      1,
    ).initialize();
    const runner = dataSource.createQueryRunner();
    await moveToSchema(runner, 'lastcall', dataSource.migrations);
    await runner.release();
    await dataSource.destroy();

    expect(await mayFindTables(SHOP)).toBe(true);
    expect(await mayFindTables(READER)).toBe(true);
    expect(await mayFindTables(OF_COLUMNS)).toBe(true);
    expect(await mayFindTables(OWNER)).toBe(true);
    expect(await mayFindTables(STRANGER)).toBe(false);
    expect(await mayFindTables(OF_ANOTHER)).toBe(false);
  });

  async function mayFindTables(role: string): Promise<boolean> {
    const { rows } = await owner.query<{ may: boolean }>(
      `SELECT has_schema_privilege($1, relnamespace, 'USAGE') AS may
         FROM pg_class WHERE oid = to_regclass('lastcall.orders')`,
      [role],
    );
    expect(rows).toHaveLength(1);
    return rows[0]?.may ?? false;
  }
});
