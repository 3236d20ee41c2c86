import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../../../test/support/database';
import { isInfrastructureError } from './database-errors';
import { openSessions } from './pooler';
import { queryRows } from './query-rows';

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

  it('fails its first statement, and ends no process', async () => {
    const { port } = server.address() as AddressInfo;
    const url = Object.assign(new URL(database.url), { port: String(port) }).href;
    const dataSource = await openSessions(new DataSource({ type: 'postgres', url }));
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
