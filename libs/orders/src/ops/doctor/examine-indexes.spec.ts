import { Client } from 'pg';
import { untilLocksAreWaitedFor } from '../../../../../test/support/lock-waits';
import { openWorld, type World } from '../../../../../test/support/world';
import { examinePostgres } from './examine-postgres';

let world: World;
let operator: Client;
let customer: Client;
beforeAll(async () => {
  world = await openWorld();
  [operator, customer] = [0, 1].map(() => new Client(world.ownerUrl)) as [Client, Client];
  await Promise.all([operator.connect(), customer.connect()]);
});
afterAll(async () => {
  await Promise.all([operator?.end(), customer?.end()]);
  await world?.close();
});

const indexes = async () => {
  const checks = await examinePostgres(world.config);
  return checks.find(({ name }) => name === 'indexes');
};

/** Begins `sql` of the operator's, which waits for the end of what a customer has begun. */
async function begin(sql: string): Promise<{ over: Promise<unknown>; pid: number }> {
  const { rows } = await operator.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  await customer.query('BEGIN');
  await customer.query('LOCK TABLE products IN ROW EXCLUSIVE MODE');
  const over = operator.query(sql).catch((error: unknown) => error);
  await untilLocksAreWaitedFor(customer, 1);
  return { over, pid: rows[0]?.pid as number };
}

describe('examinePostgres, on indexes', () => {
  it.each([
    ['REINDEX INDEX CONCURRENTLY products_pkey', 'products_pkey_ccnew'],
    ['CREATE INDEX CONCURRENTLY products_by_name ON products (name)', 'products_by_name'],
  ])('finds nothing to mend while somebody is at it: %s', async (sql, name) => {
    const { over } = await begin(sql);
    const meanwhile = await indexes();
    await customer.query('COMMIT');
    await over;
    expect(meanwhile).toMatchObject({ state: 'ok', detail: `being built: ${name}` });
    expect(await indexes()).toMatchObject({ state: 'ok', detail: 'all valid' });
  });

  it.each([
    [
      'REINDEX INDEX CONCURRENTLY products_pkey',
      'products_pkey_ccnew',
      'DROP INDEX CONCURRENTLY lastcall.products_pkey_ccnew',
    ],
    [
      'CREATE INDEX CONCURRENTLY products_by_price ON products (unit_price)',
      'products_by_price',
      'REINDEX INDEX CONCURRENTLY lastcall.products_by_price',
    ],
  ])('says how to mend what is left where that is broken off: %s', async (sql, name, fix) => {
    const { over, pid } = await begin(sql);
    await customer.query('SELECT pg_cancel_backend($1)', [pid]);
    await over;
    await customer.query('COMMIT');
    expect(await indexes()).toMatchObject({ state: 'finding', detail: `not valid: ${name}`, fix });
    await operator.query(fix);
    expect(await indexes()).toMatchObject({ state: 'ok', detail: 'all valid' });
    const { rowCount } = await operator.query(
      `SELECT FROM pg_index WHERE indrelid = 'products'::regclass AND indisprimary`,
    );
    expect(rowCount).toBe(1);
  });
});
