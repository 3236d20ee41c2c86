import { Socket } from 'node:net';
import { PEER_LIMITS, startUpOptions } from '@app/timeout';
import { DataSource } from 'typeorm';
import { openWorld, type World } from '../../../test/support/world';
import { dataSourceOptions } from './data-source';

const SETTINGS = [
  ...['DateStyle', 'IntervalStyle', 'bytea_output', 'extra_float_digits', 'array_nulls'],
  ...['standard_conforming_strings', 'transform_null_equals', 'quote_all_identifiers'],
  ...['search_path', 'default_transaction_isolation', 'enable_seqscan', 'enable_bitmapscan'],
  ...['jit', 'application_name', 'lock_timeout', 'work_mem'],
  ...Object.keys(PEER_LIMITS),
];

let world: World;
beforeAll(async () => {
  world = await openWorld();
  // As it is where Postgres comes with a compiler, unless somebody has said otherwise.
  await world.rows(`ALTER DATABASE "${new URL(world.ownerUrl).pathname.slice(1)}" SET jit = on`);
});
afterAll(() => world?.close());

/** What a connection has that claims, opened by an address that says this beside where it leads. */
async function settingsOf(said: Record<string, string>): Promise<Record<string, string>> {
  const address = new URL(world.ownerUrl);
  for (const [name, value] of Object.entries(said)) address.searchParams.set(name, value);
  const options = dataSourceOptions({
    url: address.href,
    name: 'lastcall closers',
    connections: 1,
    claims: true,
  });
  const dataSource = await new DataSource(options).initialize();
  try {
    const rows = await dataSource.query<{ name: string; setting: string }[]>(
      `SELECT name, current_setting(name) AS setting FROM unnest($1::text[]) AS name`,
      [SETTINGS],
    );
    return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
  } finally {
    await dataSource.destroy();
  }
}

describe('a connection whose address says more than where it leads', () => {
  const ours = {
    search_path: 'lastcall',
    default_transaction_isolation: 'read committed',
    enable_seqscan: 'off',
    enable_bitmapscan: 'off',
    jit: 'off',
    application_name: 'lastcall closers',
    lock_timeout: '1s',
    ...{ DateStyle: 'ISO, MDY', IntervalStyle: 'postgres', bytea_output: 'hex' },
    ...{ extra_float_digits: '1', standard_conforming_strings: 'on', array_nulls: 'on' },
    ...{ transform_null_equals: 'off', quote_all_identifiers: 'off' },
    ...{ tcp_keepalives_idle: '10', tcp_keepalives_interval: '5', tcp_keepalives_count: '2' },
    tcp_user_timeout: '20000',
  };

  it('has what the product relies on, and what the address says beside it', async () => {
    const said = { options: '-c work_mem=5MB', application_name: 'shop' };
    expect(await settingsOf(said)).toEqual({ ...ours, work_mem: '5MB' });
  });

  it('follows the address where both speak of the same, but for how values are written', async () => {
    const itsOwnWay = {
      ...{ DateStyle: 'German', IntervalStyle: 'sql_standard', bytea_output: 'escape' },
      ...{ extra_float_digits: '-3', standard_conforming_strings: 'off', array_nulls: 'off' },
      ...{ transform_null_equals: 'on', quote_all_identifiers: 'on' },
    };
    const options = `-c search_path=elsewhere,lastcall -c lock_timeout=5s -c tcp_user_timeout=9s ${startUpOptions(itsOwnWay)}`;
    expect(await settingsOf({ options })).toMatchObject({
      ...ours,
      search_path: 'elsewhere,lastcall',
      lock_timeout: '5s',
      tcp_user_timeout: '9000',
      DateStyle: 'ISO, DMY',
    });
  });
});

it('asks after a Postgres that is silent, also in a long migration: it may be gone without a goodbye', async () => {
  const asks = jest.spyOn(Socket.prototype, 'setKeepAlive');
  for (const isLimited of [true, false]) {
    asks.mockClear();
    const options = { url: world.ownerUrl, name: 'lastcall migrate', connections: 1, isLimited };
    const ours = await new DataSource(dataSourceOptions(options)).initialize();
    expect(asks).toHaveBeenCalledWith(true, 10_000);
    await ours.destroy();
  }
  asks.mockRestore();
});
