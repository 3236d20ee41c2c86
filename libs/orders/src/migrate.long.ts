import { randomBytes } from 'node:crypto';
import { Client, Pool } from 'pg';
import { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../../../test/support/database';
import { untilLocksAreWaitedFor } from '../../../test/support/lock-waits';
import { createDataSource, dataSourceOptions } from './data-source';
import { migrate } from './migrate';

/** An installation as it was made before it had a schema of its own, beside a table of somebody else. */
const AS_BEFORE = `
  CREATE TABLE public.coupons (code text PRIMARY KEY);
  GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO lastcall_app;
  GRANT USAGE ON SCHEMA public TO lastcall_app;
  ALTER DEFAULT PRIVILEGES IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO lastcall_app;
  INSERT INTO products (sku, name, unit_price, currency, on_hand, available)
    VALUES ('TEA', 'Tea', 100, 'EUR', 3, 3)`;

/** Roles belong to the server: another test may have made it. */
const MAKE_ROLE = `
  DO $$ BEGIN CREATE ROLE lastcall_app;
  EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`;

const RELATIONS = `
  SELECT relname AS name, relacl::text AS acl FROM pg_class
   WHERE relnamespace = to_regnamespace($1) AND relkind IN ('r', 'p', 'v') ORDER BY 1`;

/** One that drops an index, which nobody may who is not alone with the table. */
const CHANGES_ALARMS = 'AlarmsByInstant1764040000000';

describe('migrate', () => {
  let database: TestDatabase;
  let client: Client;
  beforeEach(async () => {
    database = await createTestDatabase();
    client = new Client({ connectionString: database.url });
    await client.connect();
  });
  afterEach(async () => {
    await client.end();
    await database.drop();
  });

  const relations = async (schema: string) =>
    (await client.query<{ name: string; acl: string | null }>(RELATIONS, [schema])).rows;
  const namesIn = async (schema: string) => (await relations(schema)).map(({ name }) => name);
  const privilegesOf = async (role: string, table: string) => {
    const { rows } = await client.query<{ can: string[] | null }>(
      `SELECT array_agg(p ORDER BY p) AS can FROM unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) p
        WHERE has_table_privilege($1, $2, p)`,
      [role, table],
    );
    return rows[0]?.can;
  };

  async function installAsBefore(owner = client, url = database.url): Promise<void> {
    const { migrations } = dataSourceOptions({ url, name: '', connections: 1 });
    const before = new DataSource({
      type: 'postgres',
      url,
      ...(migrations ? { migrations } : {}),
      migrationsTransactionMode: 'each',
      extra: { options: '-c search_path=public' },
    });
    await before.initialize();
    await before.runMigrations();
    await before.destroy();
    await client.query(MAKE_ROLE);
    await owner.query(`SET search_path = public; ${AS_BEFORE}; RESET search_path`);
  }

  /** Somebody who may do all in this database, and nothing with what is an administrator's. */
  async function asPlainOwner(use: (owner: Client, url: string) => Promise<void>): Promise<void> {
    const name = `plain_owner_${randomBytes(4).toString('hex')}`;
    const url = Object.assign(new URL(database.url), { username: name, password: 'plain' });
    const owner = new Client({ connectionString: url.href });
    await client.query(`
      CREATE ROLE ${name} LOGIN PASSWORD 'plain';
      GRANT CREATE ON DATABASE ${url.pathname.slice(1)} TO ${name};
      GRANT CREATE, USAGE ON SCHEMA public TO ${name} WITH GRANT OPTION`);
    try {
      await owner.connect();
      await use(owner, url.href);
    } finally {
      await owner.end();
      await client.query(`DROP OWNED BY ${name} CASCADE; DROP ROLE ${name}`);
    }
  }

  it("leaves a host's tables, rights and list of migrations as they are", async () => {
    await client.query(`
      CREATE TABLE public.orders (id int PRIMARY KEY, state int NOT NULL);
      CREATE TABLE public.customers (id int PRIMARY KEY);
      CREATE TABLE public.migrations (id serial PRIMARY KEY, "timestamp" bigint, name varchar);
      INSERT INTO public.migrations ("timestamp", name) VALUES (1, 'HostsOwn1')`);
    const before = await relations('public');
    expect(
      await migrate({ DATABASE_URL: database.url, DATABASE_ROLE: 'lastcall_app' }),
    ).not.toEqual([]);
    expect(await migrate({ DATABASE_URL: database.url, DATABASE_ROLE: 'lastcall_app' })).toEqual(
      [],
    );
    expect(await relations('public')).toEqual(before);
    expect((await client.query('SELECT name FROM public.migrations')).rows).toHaveLength(1);
    const { rows } = await client.query('SELECT 1 FROM pg_default_acl');
    expect(rows).toEqual([]);
    expect(await namesIn('lastcall')).toEqual(
      expect.arrayContaining(['lastcall_migrations', 'orders']),
    );
    expect(await namesIn('lastcall_scratch')).toEqual([]);
    expect(await privilegesOf('lastcall_app', 'lastcall.orders')).toEqual([
      'INSERT',
      'SELECT',
      'UPDATE',
    ]);
    expect(await privilegesOf('lastcall_app', 'lastcall.order_events')).toEqual([
      'INSERT',
      'SELECT',
    ]);
    expect(await privilegesOf('lastcall_app', 'lastcall.deadlines')).toHaveLength(4);
    expect(await privilegesOf('lastcall_app', 'lastcall.lastcall_migrations')).toEqual(['SELECT']);
  });

  it('lets others use a table that it waits for, and changes it when it is free', async () => {
    await migrate({ DATABASE_URL: database.url });
    const options = dataSourceOptions({ url: database.url, name: '', connections: 1 });
    const before = await new DataSource(options).initialize();
    const isDone = `SELECT FROM lastcall.lastcall_migrations WHERE name = '${CHANGES_ALARMS}'`;
    while ((await before.query<unknown[]>(isDone)).length > 0) await before.undoLastMigration();
    await before.destroy();
    const pool = new Pool({ connectionString: database.url });
    const dump = await pool.connect();
    await dump.query('BEGIN; SELECT FROM lastcall.alarms');
    const migrating = migrate({ DATABASE_URL: database.url });
    await untilLocksAreWaitedFor(pool, 1);
    await pool.query(`BEGIN; SET LOCAL lock_timeout = '10s'; SELECT FROM lastcall.alarms; COMMIT`);
    await dump.query('COMMIT');
    expect(await migrating).toContain(CHANGES_ALARMS);
    dump.release();
    await pool.end();
  });

  it("leaves another tool's list of migrations alone", async () => {
    await client.query('CREATE TABLE public.migrations (version bigint PRIMARY KEY)');
    expect(await migrate({ DATABASE_URL: database.url })).not.toEqual([]);
    expect(await namesIn('public')).toEqual(['migrations']);
  });

  it('gives no role anything unless it is told to', async () => {
    // Another installation of this server has made the role: it is given no way in here.
    await client.query(MAKE_ROLE);
    await migrate({ DATABASE_URL: database.url });
    const { rows } = await client.query(
      `SELECT has_schema_privilege('lastcall_app', 'lastcall', 'USAGE') AS may_use`,
    );
    expect(rows).toEqual([{ may_use: false }]);
    expect(await privilegesOf('lastcall_app', 'lastcall.orders')).toBeNull();
  });

  it('moves an installation out of public, its rights and functions with it, and nothing else', async () => {
    await installAsBefore();
    const ours = (await namesIn('public')).filter(
      (name) => !['coupons', 'migrations'].includes(name),
    );
    expect(await migrate({ DATABASE_URL: database.url })).toEqual([]);
    expect(await namesIn('public')).toEqual(['coupons']);
    expect(await namesIn('lastcall')).toEqual([...ours, 'lastcall_migrations'].sort());
    const { rows } = await client.query('SELECT sku FROM lastcall.products');
    expect(rows).toEqual([{ sku: 'TEA' }]);
    // The role had it all before: it goes on, without what it should never have had.
    expect(await privilegesOf('lastcall_app', 'lastcall.order_events')).toEqual([
      'INSERT',
      'SELECT',
    ]);
    expect(await privilegesOf('lastcall_app', 'public.coupons')).toBeNull();
    await client.query('SET ROLE lastcall_app');
    await client.query(`SET search_path = lastcall`);
    expect((await client.query('SELECT forget_settled_webhooks(1) AS gone')).rows).toEqual([
      { gone: 0 },
    ]);
    await client.query('RESET ROLE');
  });

  it('moves beside tables that it may do nothing with, and leaves what was given on purpose', async () => {
    await asPlainOwner(async (owner, url) => {
      await installAsBefore(owner, url);
      await client.query(`
        CREATE TABLE public.invoices (id int PRIMARY KEY);
        GRANT SELECT ON public.invoices TO lastcall_app`);
      await owner.query(`
        CREATE TABLE public.reports (id int PRIMARY KEY);
        REVOKE INSERT, UPDATE, DELETE ON public.reports FROM lastcall_app`);
      expect(await migrate({ DATABASE_URL: url })).toEqual([]);
      expect(await namesIn('public')).toEqual(['coupons', 'invoices', 'reports']);
      expect(await privilegesOf('lastcall_app', 'public.coupons')).toBeNull();
      expect(await privilegesOf('lastcall_app', 'public.invoices')).toEqual(['SELECT']);
      expect(await privilegesOf('lastcall_app', 'public.reports')).toEqual(['SELECT']);
    });
  });

  it('takes nothing from the role where no migration of before has given it too much', async () => {
    const inPublic = { DATABASE_URL: database.url, DATABASE_SCHEMA: 'public' };
    await migrate({ ...inPublic, DATABASE_ROLE: 'lastcall_app' });
    await client.query(`
      CREATE TABLE public.coupons (code text PRIMARY KEY);
      GRANT SELECT, INSERT, UPDATE, DELETE ON public.coupons TO lastcall_app`);
    expect(await migrate({ DATABASE_URL: database.url })).toEqual([]);
    expect(await namesIn('public')).toEqual(['coupons']);
    expect(await privilegesOf('lastcall_app', 'public.coupons')).toHaveLength(4);
  });

  it('moves under a process that was told to stay in public, which goes on', async () => {
    await installAsBefore();
    const address = { DATABASE_URL: database.url, DATABASE_SCHEMA: 'public' };
    expect(await migrate(address)).toEqual([]);
    const running = await createDataSource(address, 'an older process', 1).initialize();
    const found = { name: 'found', text: 'SELECT sku FROM products' };
    const ask = (): Promise<unknown> => running.query(found as never);
    expect(await ask()).toEqual([{ sku: 'TEA' }]);
    await migrate({ DATABASE_URL: database.url });
    expect(await ask()).toEqual([{ sku: 'TEA' }]);
    await running.destroy();
    await expect(migrate(address)).rejects.toThrow('take DATABASE_SCHEMA=public away');
  });

  it('leaves a shop that lives in public alone, whose neighbor is given a schema of another name', async () => {
    await installAsBefore();
    const inPublic = { DATABASE_URL: database.url, DATABASE_SCHEMA: 'public' };
    await migrate(inPublic);
    const before = await relations('public');
    expect(await migrate({ ...inPublic, DATABASE_SCHEMA: 'shop_b' })).not.toEqual([]);
    expect(await relations('public')).toEqual(before);
    expect(await migrate(inPublic)).toEqual([]);
    const { rows } = await client.query('SELECT sku FROM shop_b.products');
    expect(rows).toEqual([]);
  });

  it('undoes a migration that breaks in the middle, and goes on from there', async () => {
    await client.query('CREATE SCHEMA lastcall; CREATE TABLE lastcall.payments (mine int)');
    await expect(migrate({ DATABASE_URL: database.url })).rejects.toThrow(
      '"payments" already exists',
    );
    expect(await namesIn('lastcall')).not.toContain('orders');
    await client.query('DROP TABLE lastcall.payments');
    await migrate({ DATABASE_URL: database.url });
    expect(await namesIn('lastcall')).toContain('orders');
  });
});
