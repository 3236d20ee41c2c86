import { Client } from 'pg';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { insertProduct } from '../../support/insert-orders';
import { lastcall } from '../../support/lastcall';
import { untilLocksAreWaitedFor } from '../../support/lock-waits';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

let world: CliWorld;
let other: Client;

beforeAll(async () => {
  world = await startCliWorld();
  await insertProduct(world.sql, 'TEA');
  other = new Client({ connectionString: world.config.DATABASE_URL });
  await other.connect();
});
afterAll(async () => {
  await other?.end();
  await world?.close();
});

it('gives a product another name, and leaves it the price that somebody else gives it meanwhile', async () => {
  await other.query('BEGIN');
  await other.query(`UPDATE products SET unit_price = 650 WHERE sku = 'TEA'`);
  const naming = lastcall(world.config, ['products', 'set', 'TEA', '--name', 'Green tea']);
  await untilLocksAreWaitedFor(other, 1);
  await other.query('COMMIT');
  expect(await naming).toMatchObject({ code: 0, stdout: expect.stringContaining('6.50 EUR') });
  expect(
    await world.rows(`SELECT name, unit_price, currency FROM products WHERE sku = 'TEA'`),
  ).toEqual([{ name: 'Green tea', unit_price: '650', currency: 'EUR' }]);
  const [told] = await world.rows('SELECT name, unit_price FROM product_changes ORDER BY id DESC');
  expect(told).toEqual({ name: 'Green tea', unit_price: '650' });
});
