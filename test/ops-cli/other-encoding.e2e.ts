import { migrate } from '@app/orders';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../support/cli-world';
import { asMigrating, createTestDatabase, type TestDatabase } from '../support/database';
import { insertOrders, TEST_SKU } from '../support/insert-orders';
import { lastcallJson } from '../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

/** An operator writes, and a merchant names, what a database of LATIN1 has no character for. */
const REASON = 'case 17: 破損';

describe('a database of another encoding', () => {
  let database: TestDatabase;
  let world: CliWorld;
  let orderId: string;

  beforeAll(async () => {
    database = await createTestDatabase({ encoding: 'LATIN1' });
    await migrate(asMigrating(database.url));
    world = await startCliWorld({ database });
    const [order] = await insertOrders(world.sql, { count: 1, closesInMs: 600_000 });
    orderId = order?.id as string;
  });
  afterAll(async () => {
    await world?.close();
    await database?.drop();
  });

  const invalid = {
    code: 'invalid_request',
    message: expect.stringContaining('a character that the database cannot keep') as string,
  };

  it('has the command say that it keeps no such character', async () => {
    const stock = ['products', 'stock', TEST_SKU, '--delta', '3', '--reason', REASON];
    const refused = await lastcallJson(world.config, stock);
    expect(refused).toMatchObject({ code: 2, result: { error: { ...invalid, exitCode: 2 } } });
    expect(await world.rows('SELECT FROM product_changes')).toEqual([]);
  });

  it('has the command say so of each order', async () => {
    const close = ['orders', 'force-close', orderId, '--reason', REASON];
    const { code, result } = await lastcallJson(world.config, close);
    const { code: why, message } = invalid;
    expect(code).toBe(4);
    expect(result).toMatchObject({ failed: 1, orders: [{ outcome: 'failed', why, message }] });
  });

  it('has the API say so', async () => {
    const token = await world.token({ scope: 'merchant' });
    const body = { name: '煎茶', unitPrice: 700, currency: 'EUR' };
    const answer = await world.request('PUT /v1/ops/products/SENCHA', { token, body });
    const { code, message: detail } = invalid;
    expect(answer).toMatchObject({ status: 400, body: { code, detail } });
  });
});
