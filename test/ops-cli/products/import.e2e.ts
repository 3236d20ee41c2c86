import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page, ProductDetails, ProductEntry } from '@app/orders';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { insertOrders, insertProduct } from '../../support/insert-orders';
import { expectConventions, inFourWays, lastcall, lastcallJson } from '../../support/lastcall';
import { ownFolder } from '../../support/own-folder';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

const HEADER = 'sku,name,unitPrice,currency,stock';
const folder = ownFolder();
const fileOf = (...lines: string[]): string => {
  const file = join(folder, `${Math.random()}.csv`);
  writeFileSync(file, `\uFEFF${lines.join('\r\n')}\r\n`);
  return file;
};

describe('lastcall products', () => {
  let world: CliWorld;
  const products = () =>
    world.rows<{ sku: string; available: number; reserved: number; unit_price: string }>(
      'SELECT sku, available, reserved, unit_price FROM products ORDER BY sku',
    );
  const importFile = (file: string, ...flags: string[]) =>
    lastcall(world.config, ['products', 'import', file, '--reason', 'spring list', ...flags]);

  beforeAll(async () => {
    world = await startCliWorld();
    await world.rows('DELETE FROM products');
  });
  afterAll(() => world?.close());

  it('takes no piped file for the name of one', async () => {
    const input = `${HEADER}\nTEA,Tea,700,EUR,\n`;
    const { code, stderr } = await lastcall(world.config, ['products', 'import', '--dry-run'], {
      input,
    });
    expect([code, stderr]).toEqual([2, expect.stringMatching(/Missing 1 required arg:\s+file/)]);
  });

  it('takes in a file as spreadsheets write it, says first what would change, and keeps orders', async () => {
    await insertProduct(world.sql, 'TEA', 10);
    await insertOrders(world.sql, { count: 1, closesInMs: 60_000, quantity: 4 });
    const file = fileOf(HEADER, 'TEA,"Tea, green",700,EUR,20', 'CUP,"Cup ""big""",900,EUR,', '');
    const plan = await importFile(file, '--dry-run');
    expect(plan).toMatchObject({ code: 0 });
    expect(plan.stdout).toMatch(/1 product would be created, 1 updated, 1 restocked; 0 stay/);
    expect((await products()).map(({ sku }) => sku)).toEqual(['TEA']);
    expect(await importFile(file)).toMatchObject({ code: 8 });
    const done = await importFile(file, '--yes');
    expect(done).toMatchObject({ code: 0 });
    expect(done.stdout).toContain('1 product was created');
    expect(await products()).toEqual([
      { sku: 'CUP', available: 0, reserved: 0, unit_price: '900' },
      { sku: 'TEA', available: 20, reserved: 4, unit_price: '700' },
    ]);
    expect(await world.rows('SELECT unit_price FROM order_items')).toEqual([{ unit_price: '500' }]);
    const again = await importFile(file, '--yes');
    expect(again.stdout).toMatch(/0 products were created, 0 updated, 0 restocked; 2 stay/);
  });

  it('tells of every wrong line and changes nothing', async () => {
    const before = await products();
    const file = fileOf(
      ...[HEADER, 'NEW,Fine,100,EUR,1', 'a b,,-5,euro,x', 'NEW,Twice,100,EUR,1'],
      'X,Nobody pays,100,XTS,1',
    );
    const { code, stderr } = await importFile(file, '--yes');
    expect(code).toBe(2);
    for (const said of [
      'line 3: sku must be 1 to 64 letters',
      'line 3: name must have 1 to 200 characters',
      'line 3: unitPrice "-5" is not a whole number',
      'line 3: currency must be an ISO 4217 code',
      'line 3: stock "x" is not a whole number',
      'line 4: sku "NEW" stands in line 2 already',
      'line 5: currency XTS is not one that the payment provider takes',
      '3 lines are wrong',
    ]) {
      expect(stderr).toContain(said);
    }
    expect(await products()).toEqual(before);
  });

  it('refuses a file of another encoding, which would make other names of those in it', async () => {
    const before = await products();
    const file = join(folder, 'latin1.csv');
    writeFileSync(file, `${HEADER}\nCUP,Grüne Tasse,900,EUR,\nTEA,Tea,700,EUR,\n`, 'latin1');
    const { code, stderr } = await importFile(file, '--yes');
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(
        /^line 2: name "Gr\ufffdne Tasse" is not UTF-8: save it as .+\n.+1 line is wrong/,
      ),
    ]);
    expect(await products()).toEqual(before);
  });

  it.each([
    ['other columns', fileOf('sku,title', 'A,B'), 'lacks name, unitPrice, currency'],
    ['semicolons', fileOf(HEADER.replaceAll(',', ';'), 'A;B;1;EUR;'), 'with commas between them'],
    ['a line with too few', fileOf(HEADER, 'A,B,1'), 'is no CSV'],
    ['nothing in it', fileOf(HEADER), 'has no products'],
    ['no file', join(folder, 'none.csv'), 'cannot be read (ENOENT)'],
  ])('refuses a file with %s', async (_, file, message) => {
    const { code, stderr } = await importFile(file, '--dry-run');
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });

  it('sets one, stocks it and lists them, each change with its reason', async () => {
    const set = (...flags: string[]) =>
      lastcall(world.config, ['products', 'set', 'POT', '--reason', 'first of its kind', ...flags]);
    expect(await set('--price', '100')).toMatchObject({ code: 2 });
    const whole = ['--name', 'Pot', '--price', '6400', '--currency', 'EUR'];
    expect(await set(...whole)).toMatchObject({ code: 0 });
    expect(await set('--price', '6600')).toMatchObject({ code: 0 });
    const stock = ['products', 'stock', 'POT', '--reason', 'delivery', '--delta'];
    expect(await lastcall(world.config, [...stock, '3'])).toMatchObject({ code: 0 });
    const { result } = await lastcallJson<ProductDetails>(world.config, [
      ...stock.slice(0, -1),
      '--delta=-1',
    ]);
    expect(result).toMatchObject({ available: 2, unitPrice: 6_600, name: 'Pot' });
    expect(result.changes.map(({ action, delta, reason }) => [action, delta, reason])).toEqual([
      ...[
        ['stock', -1, 'delivery'],
        ['stock', 3, 'delivery'],
        ['updated', null, 'first of its kind'],
      ],
      ['created', null, 'first of its kind'],
    ]);
    expect(await lastcall(world.config, [...stock.slice(0, -1), '--delta=-5'])).toMatchObject({
      code: 4,
    });
    const ways = await inFourWays(world.config, ['products', 'list']);
    expectConventions(ways, 0);
    const { items } = JSON.parse(ways.json.stdout) as Page<ProductEntry>;
    expect(items.map(({ sku }) => sku)).toEqual(['CUP', 'POT', 'TEA']);
  });

  it('needs no reason to set and to import, and says what comes next', async () => {
    const whole = ['--name', 'Jug', '--price', '900', '--currency', 'EUR'];
    const made = await lastcall(world.config, ['products', 'set', 'JUG', ...whole]);
    expect(made).toMatchObject({ code: 0 });
    const next = /^Next: lastcall (.+)$/m.exec(made.stderr)?.[1] as string;
    expect(await lastcall(world.config, next.split(' '))).toMatchObject({ code: 0 });
    const file = fileOf(HEADER, 'JUG,Jug,950,EUR,');
    const imported = await lastcall(world.config, ['products', 'import', file, '--yes']);
    expect(imported).toMatchObject({ code: 0 });
    expect(
      await world.rows(`SELECT action, reason FROM product_changes WHERE sku = 'JUG' ORDER BY id`),
    ).toEqual([
      { action: 'created', reason: 'products set' },
      { action: 'stock', reason: 'delivery' },
      { action: 'updated', reason: 'products import' },
    ]);
    const stock = ['products', 'stock', 'JUG', '--delta', '1'];
    expect(await lastcall(world.config, stock)).toMatchObject({ code: 2 });
  });
});
