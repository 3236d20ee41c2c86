import 'reflect-metadata';
import {
  type Config,
  DATABASE,
  loadConfigWithoutAuth,
  migrate,
  PlaceOrder,
  seedProducts,
} from '@app/orders';
import type { TestingModule } from '@nestjs/testing';
import { Client } from 'pg';
import type { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase, testServers } from '../support/database';
import { until } from '../support/until';
import { HostService, startHost } from './own-shop';

/** So much before its second a timer may fire. */
const EARLY_MS = 20;

describe.each([
  ["after the host's own modules", false],
  ["before the host's own modules", true],
])('a shop that imports the order module %s', (_, lastcallFirst) => {
  let database: TestDatabase;
  let config: Config;
  let host: TestingModule;
  beforeAll(async () => {
    database = await createTestDatabase();
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query(`
      CREATE TABLE public.orders (id int PRIMARY KEY, state int NOT NULL);
      INSERT INTO public.orders VALUES (1, 7);
      ALTER DATABASE ${new URL(database.url).pathname.slice(1)} RESET search_path`);
    await client.end();
    // No settings of auth: the shop has its own.
    config = loadConfigWithoutAuth({
      DATABASE_URL: database.url,
      REDIS_URL: testServers().redisUrl,
      SANDBOX_WEBHOOK_SECRET: 'whsec_YS13ZWJob29rLXNlY3JldC1mb3ItdGVzdHM=',
      LASTCALL_HOME: '/nowhere',
    });
    await migrate(config);
    host = await startHost(config, { lastcallFirst });
    await seedProducts(host.get<DataSource>(DATABASE));
  });
  afterAll(async () => {
    await host?.close();
    await database?.drop();
  });

  it('keeps its data source, its repositories and its orders', async () => {
    const service = host.get(HostService);
    expect(await service.orders.find()).toEqual([{ id: 1, state: 7 }]);
    expect(service.byClass).toBe(service.byToken);
    expect(host.get<DataSource>(DATABASE)).not.toBe(service.byToken);
  });

  it('places orders by our own connections, with our limits', async () => {
    const { order } = await host.get(PlaceOrder).place({
      customerId: 'ann',
      idempotencyKey: 'first',
      items: [{ sku: 'TEA-SENCHA', quantity: 1 }],
    });
    expect(order.status).toBe('pending_payment');
    const sql = `SELECT current_setting('statement_timeout') AS timeout, current_schema() AS schema`;
    expect(await host.get<DataSource>(DATABASE).query(sql)).toEqual([
      { timeout: '15s', schema: 'lastcall' },
    ]);
    expect(await host.get(HostService).byToken.query(sql)).toEqual([
      { timeout: '0', schema: 'public' },
    ]);
    expect(await host.get(HostService).orders.count()).toBe(1);
  });

  it('hears its cron once a second', async () => {
    const { firedAt, startedAt } = host.get(HostService);
    await until('the cron has fired twice', () => firedAt.length >= 2);
    // However late it hears some of them, so many full seconds have begun since it was set up.
    const secondOf = (atMs: number): number => Math.floor(atMs / 1_000);
    const lastMs = (firedAt.at(-1) as Date).getTime();
    const begun = secondOf(lastMs + EARLY_MS) - secondOf(startedAt.getTime());
    expect(firedAt.length).toBeLessThanOrEqual(begun);
  });
});
