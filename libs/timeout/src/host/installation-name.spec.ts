import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import {
  createTestDatabase,
  type TestDatabase,
  testServers,
} from '../../../../test/support/database';
import { DeadlineHandler, fromPg, getTimeoutsToken, TimeoutModule, type Timeouts } from '../public';
import { installationName } from './installation-name';

@Injectable()
@DeadlineHandler('trial-end')
class EndTrials {
  handle = () => Promise.resolve({ changed: 0 });
}

describe('Two hosts with databases of their own and one Redis', () => {
  const schema = `shop_${randomUUID().slice(0, 8)}`;
  const databases: TestDatabase[] = [];
  const modules: TestingModule[] = [];
  const { redisUrl } = testServers();
  const redis = new Redis(redisUrl);
  afterAll(async () => {
    for (const one of modules) await one.close();
    for (const one of databases) await one.drop();
    await redis.quit();
  });

  const places = async (): Promise<string[]> => {
    const keys = await redis.keys(`{${schema}:*`);
    return [...new Set(keys.map((key) => key.slice(0, key.indexOf('}') + 1)))].sort();
  };
  /** Boots a host, and has it arm a deadline. */
  const boot = async (database: TestDatabase): Promise<void> => {
    const options = { postgres: { url: database.url }, redis: redisUrl, schema };
    const imports = [TimeoutModule.forRoot(options)];
    const making = Test.createTestingModule({ imports, providers: [EndTrials] });
    const module = await making.setLogger(false as never).compile();
    modules.push(module);
    await module.init();
    const client = new Client(database.url);
    await client.connect();
    const dueAt = new Date(Date.now() + 60_000);
    const deadline = { kind: 'trial-end', subjectId: 'one', dueAt };
    await module.get<Timeouts>(getTimeoutsToken()).arm(fromPg(client), deadline);
    await client.end();
  };

  it('have alarms of their own, and the processes of each the same', async () => {
    databases.push(await createTestDatabase(), await createTestDatabase());
    const [one, other] = databases as [TestDatabase, TestDatabase];
    for (const database of [one, other, one]) await boot(database);
    // What is on its way to Redis comes there before.
    for (const module of modules.splice(0)) await module.close();
    expect(await places()).toHaveLength(2);
  });
});

describe('A database that does not tell which one it is', () => {
  let database: TestDatabase;
  beforeAll(async () => (database = await createTestDatabase()));
  afterAll(() => database?.drop());

  it('has names by its schema alone', async () => {
    const owner = new Client(database.url);
    await owner.connect();
    await owner.query('REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC');
    await owner.end();
    const names = await Promise.all(
      [database.appUrl, database.url].map(async (url) => {
        const dataSource = await new DataSource({ type: 'postgres', url }).initialize();
        const name = await installationName(dataSource, 'shop');
        await dataSource.destroy();
        return name;
      }),
    );
    expect(names).toEqual(['shop', expect.stringMatching(/^shop:[0-9a-f]{12}$/)]);
  });
});
