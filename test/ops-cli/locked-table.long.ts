import type { Check } from '@app/orders';
import { Client } from 'pg';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../support/cli-world';
import { lastcall, lastcallJson } from '../support/lastcall';

/* Somebody has locked a whole table: commands say so, and the doctor who that is. */

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

let world: CliWorld;
let dba: Client;
let pid: number;
beforeAll(async () => {
  world = await startCliWorld();
  dba = new Client({ connectionString: world.ownerUrl, application_name: 'a dba' });
  await dba.connect();
  const { rows } = await dba.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  pid = rows[0]?.pid ?? 0;
});
afterAll(async () => {
  await dba?.end();
  await world?.close();
});
afterEach(() => dba.query('ROLLBACK'));

async function lock(table: string): Promise<void> {
  await dba.query('BEGIN');
  await dba.query(`LOCK TABLE lastcall.${table} IN ACCESS EXCLUSIVE MODE`);
}

const examined = async (): Promise<Check[]> =>
  (await lastcallJson<{ checks: Check[] }>(world.config, ['doctor'])).result.checks;

it.each([
  ['processes', 'alive'],
  ['installation', 'alive'],
  ['near_deadlines', 'kinds of hosts'],
  ['payments', 'event relay'],
  ['lastcall_migrations', 'migrations'],
])('the doctor looks on while %s is locked, and names who has it', async (table, unseen) => {
  await lock(table);
  const checks = await examined();
  const found = checks.find(({ name }) => name === 'table locks');
  expect(found).toMatchObject({
    state: 'finding',
    detail: expect.stringContaining(`${table}: ${pid}`) as string,
    fix: expect.stringContaining('pg_terminate_backend') as string,
  });
  expect(checks.find(({ name }) => name === unseen)).toMatchObject({
    state: 'unknown',
    fix: expect.stringContaining('table locks') as string,
  });
  expect(checks.find(({ name }) => name === 'clock')).toMatchObject({ state: 'ok' });
});

it('the doctor finds nothing once it is free', async () => {
  expect((await examined()).find(({ name }) => name === 'table locks')).toMatchObject({
    state: 'ok',
  });
});

it('another command says that a table is locked, and where to look', async () => {
  await lock('orders');
  const { code, stderr } = await lastcall(world.config, ['stats']);
  expect(code).toBe(4);
  expect(stderr).toContain('Somebody has locked a table');
  expect(stderr).toContain('lastcall doctor');
});
