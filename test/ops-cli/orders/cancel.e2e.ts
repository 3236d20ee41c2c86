import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { lastcallJson, operatorNamed } from '../../support/lastcall';
import { settledAsPaid } from '../../support/settled-as-paid';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

const WHY = ['--reason', 'case 17', '--actor', 'eve'];

describe('lastcall orders cancel', () => {
  let world: CliWorld;
  beforeAll(async () => (world = await startCliWorld()));
  afterAll(() => world?.close());

  it('cancels a paid order and sends its money back, once that was confirmed', async () => {
    const id = await settledAsPaid(world, 3);
    const cancel = (...flags: string[]) =>
      lastcallJson(world.config, ['orders', 'cancel', id, ...flags, ...WHY]);
    const status = async () =>
      (await world.rows<{ status: string }>('SELECT status FROM orders WHERE id = $1', [id]))[0]
        ?.status;
    const refunds = () => world.rows('SELECT amount::int, reason FROM refunds');
    const unconfirmed = { code: 8, result: { error: { code: 'confirmation_needed' } } };
    expect(await cancel()).toMatchObject(unconfirmed);
    expect(await cancel('--dry-run')).toMatchObject({ code: 0, result: { dryRun: true } });
    expect([await status(), await refunds()]).toEqual(['paid', []]);
    const order = { id, status: 'canceled' };
    expect(await cancel('--yes')).toMatchObject({ code: 0, result: { dryRun: false, order } });
    expect([await status(), await refunds()]).toEqual([
      'canceled',
      [{ amount: 1_500, reason: expect.any(String) as string }],
    ]);
    const [event] = await world.rows(
      `SELECT actor, reason FROM order_events WHERE order_id = $1 AND to_status = 'canceled'`,
      [id],
    );
    expect(event).toMatchObject({ actor: operatorNamed('eve'), reason: 'case 17' });
  });
});
