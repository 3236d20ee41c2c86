import { once } from 'node:events';
import { type AddressInfo, createServer, Socket } from 'node:net';
import { Client, Pool } from 'pg';
import {
  type BeforeQueryEvent,
  DataSource,
  Entity,
  type InsertEvent,
  PrimaryColumn,
} from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database';
import { isInfrastructureError } from '../database/database-errors';
import { inTransaction } from '../database/in-transaction';
import { queryRows } from '../database/query-rows';
import { findPlace, type HostPostgres } from './connections';
import { migratePlace } from './migrate-timeouts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  const client = new Client({ connectionString: database.url });
  await client.connect();
  // As it is where Postgres comes with a compiler, unless somebody has said otherwise.
  await client.query(`ALTER DATABASE "${new URL(database.url).pathname.slice(1)}" SET jit = on`);
  await client.end();
});
afterAll(() => database?.drop());

const SAID = '-c search_path=shop -c work_mem=5MB';
const OURS = {
  search_path: 'lastcall_timeout',
  default_transaction_isolation: 'read committed',
  enable_seqscan: 'off',
  jit: 'off',
  application_name: 'lastcall drains',
  ...{ tcp_keepalives_idle: '10', tcp_keepalives_interval: '5', tcp_keepalives_count: '2' },
  tcp_user_timeout: '20000',
};

/** What our own connections beside a host's have. */
async function settingsBeside(postgres: HostPostgres): Promise<Record<string, string>> {
  const place = await findPlace(postgres, 'lastcall_timeout');
  const dataSource = await place.open({ name: 'lastcall drains', connections: 1 });
  try {
    const rows = await dataSource.query<{ name: string; setting: string }[]>(
      `SELECT name, current_setting(name) AS setting FROM unnest($1::text[]) AS name`,
      [[...Object.keys(OURS), 'work_mem']],
    );
    const settings = Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
    return { ...settings, hostPath: place.hostPath };
  } finally {
    await dataSource.destroy();
  }
}

it.each([
  ['x'.repeat(64), 'must have 63 characters at the most'],
  ['Lastcall', 'must be a name of small letters, digits and _'],
  ['pg_lastcall', "must be none of Postgres' own"],
  ['information_schema', "must be none of Postgres' own"],
])('have no schema called %s', async (schema, why) => {
  const finding = findPlace({ url: database.url }, schema);
  await expect(finding).rejects.toThrow(`\`schema\` ${why}`);
  await expect(finding).rejects.toThrow(`not "${schema}"`);
});

describe('connections beside those of a host that has start-up options', () => {
  const address = (): string => {
    const url = new URL(database.url);
    url.searchParams.set('options', SAID);
    url.searchParams.set('application_name', 'shop');
    return url.href;
  };
  const both = { ...OURS, work_mem: '5MB', hostPath: 'shop' };

  it('have ours and the host’s, by its address', async () => {
    expect(await settingsBeside({ url: address() })).toEqual(both);
  });

  it.each([
    { what: 'address', options: () => ({ connectionString: address() }) },
    { what: 'options', options: () => ({ connectionString: database.url, options: SAID }) },
  ])('have ours and the host’s, by the $what of its pool', async ({ options }) => {
    const pool = new Pool(options());
    expect(await settingsBeside({ pool })).toEqual(both);
    await pool.end();
  });

  it.each([
    { what: 'address', options: () => ({ url: address() }) },
    { what: 'options', options: () => ({ url: database.url, extra: { options: SAID } }) },
  ])('have ours and the host’s, by the $what of its data source', async ({ options }) => {
    const dataSource = await new DataSource({ type: 'postgres', ...options() }).initialize();
    expect(await settingsBeside({ dataSource })).toEqual(both);
    await dataSource.destroy();
  });
});

it('asks where the tables of a host are by the fields of its pool, the password among them', async () => {
  const { hostname: host, port, username: user, password, pathname } = new URL(database.url);
  expect(password).not.toBe('');
  const pool = new Pool({
    ...{ host, port: Number(port), user, password: decodeURIComponent(password) },
    ...{ database: pathname.slice(1), options: SAID },
  });
  expect(await settingsBeside({ pool })).toMatchObject({ ...OURS, hostPath: 'shop' });
  await pool.end();
});

it('asks after a Postgres that is silent, also in a long migration: it may be gone without a goodbye', async () => {
  const asks = jest.spyOn(Socket.prototype, 'setKeepAlive');
  const place = await findPlace({ url: database.url }, 'lastcall_timeout');
  for (const isLimited of [true, false]) {
    asks.mockClear();
    const ours = await place.open({ name: 'lastcall migrate', connections: 1, isLimited });
    expect(asks).toHaveBeenCalledWith(true, 10_000);
    await ours.destroy();
  }
  asks.mockRestore();
});

describe('asking a Postgres where the tables of a host are', () => {
  /** Takes connections, and hands what each says to `answer`. */
  const place = async (answer: (socket: Socket) => void) => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => undefined).on('data', () => answer(socket));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const close = (): void => {
      server.close();
      for (const socket of sockets) socket.destroy();
    };
    return { server, url: `postgres://shop@127.0.0.1:${port}/shop`, close };
  };

  it('gives up where nobody answers', async () => {
    const { server, url, close } = await place(() => undefined);
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    try {
      const found = findPlace({ url }, 'lastcall_timeout');
      const refused = found.catch((error: unknown) => error);
      await once(server, 'connection');
      jest.advanceTimersByTime(2_000);
      expect(String(await refused)).toContain('timeout');
      expect(isInfrastructureError(await refused)).toBe(true);
    } finally {
      jest.useRealTimers();
      close();
    }
  });

  it('hears of a connection that breaks, which ends nothing else', async () => {
    const READY = Buffer.from('520000000800000000' + '5a0000000549', 'hex');
    let isOpen = false;
    const { url, close } = await place((socket) => {
      if (isOpen) socket.destroy();
      else socket.write(READY);
      isOpen = true;
    });
    await expect(findPlace({ url }, 'lastcall_timeout')).rejects.toThrow('terminated');
    close();
  });
});

@Entity('trials')
class Trial {
  @PrimaryColumn('text') id!: string;
}

describe('the options of a host’s data source', () => {
  const TOO_LONG = 600_000;
  const ITS_OWN = {
    max: 2,
    connectionTimeoutMillis: TOO_LONG,
    query_timeout: TOO_LONG,
    statement_timeout: TOO_LONG,
    lock_timeout: TOO_LONG,
    idle_in_transaction_session_timeout: TOO_LONG,
  };
  const LIMITS = `SELECT current_setting('statement_timeout') AS statement,
    current_setting('lock_timeout') AS lock,
    current_setting('idle_in_transaction_session_timeout') AS idle`;

  /** So many connections at once, and what the first of them may. */
  const limitsBeside = async (postgres: HostPostgres, connections: number): Promise<unknown> => {
    const place = await findPlace(postgres, 'lastcall_timeout');
    const ours = await place.open({ name: 'lastcall drains', connections });
    const runners = Array.from({ length: connections }, () => ours.createQueryRunner());
    try {
      await Promise.all(runners.map((runner) => runner.connect()));
      return await runners[0]?.query(LIMITS);
    } finally {
      await Promise.all(runners.map((runner) => runner.release()));
      await ours.destroy();
    }
  };
  const ours = [{ statement: '15s', lock: '1s', idle: '10s' }];

  it('change neither the number of our connections nor their limits', async () => {
    const options = { type: 'postgres', url: database.url, extra: ITS_OWN } as const;
    const dataSource = await new DataSource(options).initialize();
    expect(await limitsBeside({ dataSource }, 3)).toEqual(ours);
    await dataSource.destroy();
  });

  it('change no limits by an address that names them either', async () => {
    const url = new URL(database.url);
    for (const [name, value] of Object.entries(ITS_OWN)) url.searchParams.set(name, String(value));
    expect(await limitsBeside({ url: url.href }, 3)).toEqual(ours);
  });

  it('lead to where it writes, also with replicas beside', async () => {
    const master = { url: database.url };
    const replication = { master, slaves: [{ ...master, port: 1 }] };
    const dataSource = new DataSource({ type: 'postgres', replication });
    const asked = { options: dataSource.options, query: () => Promise.resolve([]) };
    expect(await limitsBeside({ dataSource: asked }, 1)).toEqual(ours);
  });

  it('keep no tables of ours in its schema, and its entities there', async () => {
    const dataSource = await new DataSource({
      ...{ type: 'postgres', url: database.url, entities: [Trial] },
      schema: 'shop',
    }).initialize();
    await dataSource.query('CREATE SCHEMA shop');
    await dataSource.query('CREATE TABLE shop.trials (id text PRIMARY KEY)');
    for (const schema of ['first_one', 'second_one']) {
      const place = await findPlace({ dataSource }, schema);
      const made = await migratePlace(place);
      expect(made.length).toBeGreaterThan(0);
      const ours = await place.open({ name: 'lastcall drains', connections: 1 });
      await queryRows(ours, 'SELECT FROM deadlines');
      await ours.getRepository(Trial).insert({ id: schema });
      await ours.destroy();
    }
    expect(await dataSource.query('SELECT id FROM shop.trials ORDER BY id')).toEqual([
      { id: 'first_one' },
      { id: 'second_one' },
    ]);
    const tables = await dataSource.query<{ name: string }[]>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'shop'`,
    );
    expect(tables).toEqual([{ name: 'trials' }]);
    await dataSource.destroy();
  });
});

it('lets the subscribers of a host hear of its entities, in the transaction, and of nothing else', async () => {
  const heard: string[] = [];
  const stamp = {
    beforeInsert: async ({ entity, manager, dataSource: of }: InsertEvent<Trial>) => {
      const [{ size }] = await manager.query('SELECT count(*)::int AS size FROM stamped');
      entity.id = `${entity.id} stamped`;
      heard.push(`${entity.id} ${of === dataSource} ${size}`);
    },
    beforeQuery: ({ query }: BeforeQueryEvent) => void heard.push(query.slice(0, 6)),
    beforeTransactionStart: () => void heard.push('transaction'),
  };
  const dataSource = await new DataSource({
    ...{ type: 'postgres', url: database.url, entities: [Trial], synchronize: true },
  }).initialize();
  await dataSource.query('CREATE TABLE stamped AS SELECT 1 AS one');
  const place = await findPlace({ dataSource }, 'lastcall_timeout');
  const ours = await place.open({ name: 'lastcall drains', connections: 1 });
  // By the host's own container, when everything has been opened.
  dataSource.subscribers.push(stamp);
  await inTransaction(ours, async (tx) => {
    await tx.rows('SET LOCAL search_path = public');
    await tx.manager.save(Object.assign(new Trial(), { id: 'ann' }));
  });
  await queryRows(ours, 'SELECT 1');
  expect(heard).toEqual(['SELECT', 'SELECT', 'ann stamped true 1', 'INSERT']);
  expect(await dataSource.getRepository(Trial).find()).toEqual([{ id: 'ann stamped' }]);
  await ours.destroy();
  await dataSource.destroy();
});
