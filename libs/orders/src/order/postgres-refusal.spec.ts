import { DataSource } from 'typeorm';
import { openWorld, type World } from '../../../../test/support/world';
import { hasDeadlinesAlone } from '../ops/deadlines-alone';
import { examinePostgres } from '../ops/doctor/examine-postgres';
import { createDataSource } from '../data-source';
import { postgresRefusal } from './postgres-refusal';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

/** As somebody else would, who is told so by Postgres itself. */
async function refusalOf(change: (url: URL) => void, sql = 'SELECT 1') {
  const url = new URL(world.config.DATABASE_URL);
  change(url);
  const dataSource: DataSource = createDataSource({ DATABASE_URL: url.href }, 'lastcall test', 1);
  try {
    await dataSource.initialize();
    await dataSource.query(sql);
    return undefined;
  } catch (error) {
    return postgresRefusal(error);
  } finally {
    if (dataSource.isInitialized) await dataSource.destroy();
  }
}

it.each([
  ['a wrong password', (url: URL) => (url.password = 'no'), 'refuses the login', 'password'],
  ['a database that is none', (url: URL) => (url.pathname = '/none'), 'no such database', 'name'],
])('%s is told, and how to mend it', async (_what, change, what, mend) => {
  const refused = await refusalOf(change);
  expect(refused?.what).toContain(what);
  expect(refused?.mend).toContain(mend);
});

it.each([
  ['a right that is missing', '', 'DELETE FROM order_events', 'lacks a right', 'GRANT TEMPORARY'],
  [
    'a database that takes no writes',
    '-c default_transaction_read_only=on',
    'UPDATE products SET name = name',
    'takes no writes',
    'default_transaction_read_only',
  ],
  [
    'a disk that is full',
    '',
    `DO $$ BEGIN RAISE 'could not extend file' USING ERRCODE = '53100'; END $$`,
    'disk of Postgres is full',
    'pg_replication_slots',
  ],
])('%s is told, and how to mend it', async (_what, options, sql, what, mend) => {
  const refused = await refusalOf((url) => url.searchParams.set('options', options), sql);
  expect(refused?.what).toContain(what);
  expect(refused?.mend).toContain(mend);
});

it('a certificate that nobody knows is told of, as Node says it', () => {
  const error = Object.assign(new Error('self-signed certificate'), {
    code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
  });
  expect(postgresRefusal(new Error('connecting', { cause: error }))?.mend).toContain('sslmode');
});

it('a certificate of another host is told of as that: its authority is known', () => {
  const error = Object.assign(new Error("Hostname/IP does not match certificate's altnames"), {
    code: 'ERR_TLS_CERT_ALTNAME_INVALID',
  });
  expect(postgresRefusal(error)?.what).toContain('another host');
  expect(postgresRefusal(error)?.mend).not.toContain('sslrootcert');
});

it.each([
  ['CERT_HAS_EXPIRED', 'has expired', 'new one'],
  ['CERT_NOT_YET_VALID', 'is not valid yet', 'clock'],
  ['EPROTO', 'No TLS connection', 'TLS 1.2'],
  ['ERR_SSL_UNSUPPORTED_PROTOCOL', 'No TLS connection', 'TLS 1.2'],
])(
  'a server whose TLS is no good is told of (%s), and no authority is asked for',
  (code, what, mend) => {
    const refused = postgresRefusal(Object.assign(new Error('no'), { code }));
    expect(refused?.what).toContain(what);
    expect(refused?.mend).toContain(mend);
    expect(refused?.mend).not.toContain('sslrootcert');
  },
);

it('one that has no transaction ID left is told of, and what keeps the old ones', () => {
  const said = { code: '54000', routine: 'GetNewTransactionId' };
  const refused = postgresRefusal(Object.assign(new Error('not accepting commands'), said));
  expect(refused?.what).toContain('takes no writes');
  expect(refused?.mend).toContain('pg_replication_slots, pg_prepared_xacts');
});

it('a process that may open no more connections is told of, and not taken for a server that is away', () => {
  const error = new Error('connect EMFILE 127.0.0.1:5432 - Local (undefined:undefined)');
  expect(postgresRefusal(error)?.mend).toContain('LimitNOFILE');
  const ofSeveralNumbers = Object.assign(new AggregateError([error]), { code: 'EMFILE' });
  expect(postgresRefusal(ofSeveralNumbers)?.mend).toContain('LimitNOFILE');
});

it('a server without TLS is told of, and not taken for one that is away', async () => {
  const refused = await refusalOf((url) => url.searchParams.set('sslmode', 'verify-full'));
  expect(refused?.what).toContain('TLS');
  expect(refused?.mend).toContain('sslmode');
});

it('a server that is away says nothing of it', async () => {
  expect(await refusalOf((url) => (url.port = '1'))).toBeUndefined();
});

describe('the doctor', () => {
  it('looks on where the login is refused, and says how to mend that', async () => {
    const url = new URL(world.config.DATABASE_URL);
    url.password = 'no';
    const config = { ...world.config, DATABASE_URL: url.href };
    expect(await hasDeadlinesAlone(config)).toBe(false);
    expect(await examinePostgres(config)).toMatchObject([
      {
        name: 'reachable',
        state: 'unknown',
        fix: expect.stringContaining('DATABASE_URL') as string,
      },
    ]);
  });

  it('finds that a database takes no writes, which is no standby', async () => {
    const url = new URL(world.config.DATABASE_URL);
    url.searchParams.set('options', '-c default_transaction_read_only=on');
    const checks = await examinePostgres({ ...world.config, DATABASE_URL: url.href });
    expect(checks.find(({ name }) => name === 'primary')).toMatchObject({
      state: 'finding',
      detail: expect.stringContaining('default_transaction_read_only') as string,
    });
  });
});
