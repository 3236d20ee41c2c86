import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database';
import { until } from '../../../../test/support/until';
import { openSessions } from './pooler';
import { queryRows } from './query-rows';

const POOL = 16;
const AT_ONCE = 4;

describe('A pool of which all connections are wanted at once', () => {
  let database: TestDatabase;
  let dataSource: DataSource | undefined;
  /** While it holds them, nobody is greeted: those who have come, in their order. */
  let isHolding = false;
  let held: (() => void)[] = [];
  const sockets: Socket[] = [];
  const server = createServer((client) => {
    sockets.push(client.on('error', () => undefined));
    const greet = (): void => {
      const { hostname, port } = new URL(database.url);
      const postgres = connect(Number(port), hostname).on('error', () => undefined);
      sockets.push(postgres);
      client.pipe(postgres).pipe(client);
    };
    if (isHolding) held.push(greet);
    else greet();
  });
  const port = (): number => (server.address() as AddressInfo).port;
  const open = (connectTimeoutMS: number) => {
    const url = Object.assign(new URL(database.url), { port: String(port()) }).href;
    return openSessions(
      new DataSource({ type: 'postgres', url, poolSize: POOL, connectTimeoutMS }),
    );
  };
  /** Each takes a connection, and holds it until all have one. */
  const wantAll = (all: DataSource) => {
    const runners = Array.from({ length: POOL }, () => all.createQueryRunner());
    return Promise.allSettled(runners.map((runner) => runner.connect())).finally(() =>
      Promise.all(runners.map((runner) => runner.release())),
    );
  };
  /** How many have come, of all that were sent: one of our own comes behind them. */
  const arrived = async (): Promise<number> => {
    await until('the first have come', () => held.length >= AT_ONCE);
    const before = held.length;
    const last = connect(port(), '127.0.0.1');
    sockets.push(last);
    await once(last, 'connect');
    await until('ours has come', () => held.length > before);
    return held.length - 1;
  };

  beforeAll(async () => {
    database = await createTestDatabase();
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  beforeEach(() => void (isHolding = false));
  afterEach(() => dataSource?.destroy());
  afterAll(async () => {
    for (const one of sockets) one.destroy();
    server.close();
    await database?.drop();
  });
  const hold = (): void => {
    held = [];
    isHolding = true;
  };

  it('opens four at a time, and the next as soon as one is open', async () => {
    dataSource = await open(60_000);
    hold();
    const all = wantAll(dataSource);
    expect(await arrived()).toBe(AT_ONCE);
    held[0]?.();
    // Ours, and the fifth of theirs.
    await until('the fifth has come', () => held.length === AT_ONCE + 2);
    isHolding = false;
    for (const greet of held.slice(1)) greet();
    expect((await all).filter(({ status }) => status === 'rejected')).toEqual([]);
  });

  it('does not begin with those that have waited too long, and goes on behind them', async () => {
    dataSource = await open(60_000);
    const { options } = (dataSource.driver as unknown as { readonly master: Pool }).master;
    hold();
    // For those alone whom nobody greets: a busy machine takes longer to open all of them.
    options.connectionTimeoutMillis = 500;
    const all = await wantAll(dataSource);
    options.connectionTimeoutMillis = 60_000;
    expect(all.filter(({ status }) => status === 'rejected')).toHaveLength(POOL - 1);
    expect(await arrived()).toBe(AT_ONCE);
    isHolding = false;
    expect(await queryRows(dataSource, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect((await wantAll(dataSource)).filter(({ status }) => status === 'rejected')).toEqual([]);
  });
});
