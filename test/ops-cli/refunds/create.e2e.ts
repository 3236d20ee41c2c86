import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { TEST_SKU } from '../../support/insert-orders';
import { lastcallJson, operatorNamed } from '../../support/lastcall';
import { settledAsPaid } from '../../support/settled-as-paid';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

const WHY = ['--reason', 'case 17', '--actor', 'eve'];

describe('lastcall refunds create', () => {
  let world: CliWorld;
  let orderId: string;

  beforeAll(async () => {
    world = await startCliWorld();
    orderId = await settledAsPaid(world, 3);
  });
  afterAll(() => world?.close());

  const create = (...flags: string[]) =>
    lastcallJson(world.config, ['refunds', 'create', orderId, '--amount', '500', ...flags, ...WHY]);
  const refunds = () => world.rows('SELECT amount::int, reason FROM refunds');
  const cameBack = () =>
    world.rows(
      `SELECT sku, quantity FROM unfolded_stock_movements WHERE effect = 'restock'
       UNION ALL SELECT sku, quantity FROM stock_movements WHERE effect = 'restock'`,
    );

  it('sends nothing back that was not confirmed', async () => {
    const what = ['--restock', `${TEST_SKU}=2`];
    expect(await create(...what)).toMatchObject({
      ...{ code: 8, result: { error: { code: 'confirmation_needed' } } },
    });
    expect(await create(...what, '--dry-run')).toMatchObject({
      ...{ code: 0, result: { dryRun: true, replayed: false } },
    });
    for (const wrong of [TEST_SKU, `${TEST_SKU}=0`, `${TEST_SKU}=1.5`, '=2']) {
      expect((await create('--restock', wrong, '--yes')).code).toBe(2);
    }
    expect((await create('--restock', `${TEST_SKU}=4`, '--yes')).code).toBe(4);
    expect([await refunds(), await cameBack()]).toEqual([[], []]);
  });

  it('sends back what was, with what can be sold again, once for a key', async () => {
    const args = ['--restock', `${TEST_SKU}=2`, '--yes', '--idempotency-key', 'case-17'];
    expect(await create(...args)).toMatchObject({
      ...{ code: 0, result: { dryRun: false, replayed: false, order: { id: orderId } } },
    });
    expect(await create(...args)).toMatchObject({ code: 0, result: { replayed: true } });
    expect(await refunds()).toEqual([{ amount: 500, reason: 'operator' }]);
    expect(await cameBack()).toEqual([{ sku: TEST_SKU, quantity: 2 }]);
    const actions = await world.rows(
      `SELECT action, actor, reason FROM operator_actions WHERE actor LIKE 'eve%'`,
    );
    expect(actions).toEqual([
      { action: expect.any(String), actor: operatorNamed('eve'), reason: 'case 17' },
    ]);
  });
});
