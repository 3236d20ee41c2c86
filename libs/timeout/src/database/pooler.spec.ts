import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Pool, PoolClient } from 'pg';
import { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database';
import { limitSessions } from '../../../../test/support/limit-sessions';
import { startTcpProxy } from '../../../../test/support/tcp-proxy';
import { CommitUnknownError } from './commit';
import { isInfrastructureError } from './database-errors';
import { NODE_POSTGRES } from './node-postgres';
import { openSessions, withOwnSessions } from './pooler';
import { queryRows } from './query-rows';
import { standStillUntilGone } from '../testing/stand-still';

const READY_FOR_QUERY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);
const FIELDS = Buffer.from(
  'SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0',
);
const TERMINATED = Buffer.concat([Buffer.from([0x45, 0, 0, 0, FIELDS.length + 4]), FIELDS]);

describe('A connection that Postgres ends as it is opened', () => {
  let database: TestDatabase;
  let ends = false;
  const sockets: Socket[] = [];
  /** Hands everything on; where a session is ready, its end comes in the same packet. */
  const server = createServer((client) => {
    const { hostname, port } = new URL(database.url);
    const postgres = connect(Number(port), hostname);
    sockets.push(client, postgres);
    for (const one of [client, postgres]) one.on('error', () => undefined);
    client.pipe(postgres);
    postgres.on('data', (data: Buffer) => {
      const isReady = data.subarray(-READY_FOR_QUERY.length).equals(READY_FOR_QUERY);
      client.write(ends && isReady ? Buffer.concat([data, TERMINATED]) : data);
    });
  });
  beforeAll(async () => {
    database = await createTestDatabase();
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(async () => {
    for (const one of sockets) one.destroy();
    server.close();
    await database?.drop();
  });

  const toServer = (): DataSource => {
    const { port } = server.address() as AddressInfo;
    const url = Object.assign(new URL(database.url), { port: String(port) }).href;
    return new DataSource({ type: 'postgres', ...NODE_POSTGRES, url });
  };

  it('fails who opens the pool, where it is the first one, and ends no process', async () => {
    ends = true;
    const failure: unknown = await openSessions(toServer()).catch((error: unknown) => error);
    ends = false;
    expect(isInfrastructureError(failure)).toBe(true);
  });

  it('fails its first statement, and ends no process', async () => {
    const dataSource = await openSessions(toServer());
    const held = dataSource.createQueryRunner();
    await held.connect();
    ends = true;
    const failure: unknown = await queryRows(dataSource, 'SELECT 1').catch(
      (error: unknown) => error,
    );
    ends = false;
    expect(isInfrastructureError(failure)).toBe(true);
    expect(await queryRows(dataSource, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await held.release();
    await dataSource.destroy();
  });
});

describe('A session that Postgres ends while others are looked at', () => {
  it('means that Postgres is away', async () => {
    const database = await createTestDatabase();
    const dataSource = await openSessions(new DataSource({ type: 'postgres', url: database.url }));
    const { master } = dataSource.driver as unknown as { readonly master: Pool };
    const taken: number[] = [];
    master.on('acquire', (client: PoolClient & { readonly processID?: number }) => {
      taken.push(client.processID ?? 0);
      if (taken.length === 2) standStillUntilGone(dataSource, taken[0] as number, 'end it');
    });
    const failure: unknown = await withOwnSessions(dataSource).catch((error: unknown) => error);
    expect(taken.length).toBe(2);
    expect(isInfrastructureError(failure)).toBe(true);
    await database.drop();
  });
});

describe('A look at sessions, whose COMMIT is not answered', () => {
  it('has changed nothing, so that nothing is unknown', async () => {
    const database = await createTestDatabase();
    const proxy = await startTcpProxy(database.url);
    const dataSource = await openSessions(new DataSource({ type: 'postgres', url: proxy.url }));
    proxy.loseCommit(/pg_backend_pid/);
    const failure: unknown = await withOwnSessions(dataSource).catch((error: unknown) => error);
    expect(failure).not.toBeInstanceOf(CommitUnknownError);
    expect(isInfrastructureError(failure)).toBe(true);
    await proxy.close();
    await database.drop();
  });
});

describe('Sessions of a database that ends transactions and idle sessions by itself', () => {
  const LIMITS = { transaction_timeout: '77s', idle_session_timeout: '78s' };

  it('have no such limits, also when others have set something for theirs and it was undone', async () => {
    const database = await createTestDatabase();
    await limitSessions(database.url, LIMITS);
    const options = '-c idle_in_transaction_session_timeout=3s';
    const dataSource = await openSessions(
      new DataSource({ type: 'postgres', url: database.url, extra: { options } }),
    );
    const runners = [dataSource.createQueryRunner(), dataSource.createQueryRunner()];
    for (const runner of runners) {
      await runner.query('SET lock_timeout = 1; RESET ALL');
      const limits = (await runner.query(
        `SELECT name, setting FROM pg_settings WHERE name = ANY ($1)`,
        [Object.keys(LIMITS)],
      )) as { setting: string }[];
      expect(limits.filter(({ setting }) => setting !== '0')).toEqual([]);
      expect(await runner.query('SHOW idle_in_transaction_session_timeout')).toEqual([
        { idle_in_transaction_session_timeout: '3s' },
      ]);
    }
    await Promise.all(runners.map((runner) => runner.release()));
    await dataSource.destroy();
    await database.drop();
  });
});
