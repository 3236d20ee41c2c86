import { fanOutAll } from '../../../../test/support/fan-out-all';
import { historyIsOver } from '../../../../test/support/history-is-over';
import { insertOrders, insertProduct } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { WebhookEndpoints } from './endpoints';
import { FanOutEvents } from './fan-out';

const MIA = { actor: 'mia', reason: 'the shop hears of it' };

describe('FanOutEvents', () => {
  let world: World;
  beforeAll(async () => (world = await openWorld({ settings: { WEBHOOKS_ALLOW_PRIVATE: 'on' } })));
  afterAll(() => world?.close());

  it('reads a backlog once, a few transactions at a time', async () => {
    const fanOut = world.get(FanOutEvents);
    await insertProduct(world);
    await world.get(WebhookEndpoints).create({ url: 'http://127.0.0.1:1', events: ['*'] }, MIA);
    for (let transaction = 0; transaction < 3; transaction++) {
      await insertOrders(world, { count: 1_500, closesInMs: 60_000 });
    }
    await historyIsOver(world);
    let asked = 0;
    expect(await fanOut.runOnce(() => ++asked > 1)).toEqual({ written: 1_500 });
    const again = await world.rows(
      `SELECT FROM order_events, webhook_cursor
        WHERE tx >= tx_from AND tx < tx_until AND id <= last_id LIMIT 1`,
    );
    expect(again).toEqual([]);
    await fanOutAll(world, fanOut);
    const [row] = await world.rows('SELECT count(*)::int AS written FROM webhook_deliveries');
    expect(row).toEqual({ written: 4_500 });
  });

  it('loses nothing of an endpoint while another is made, which hears of nothing from before', async () => {
    const endpoints = world.get(WebhookEndpoints);
    const make = async (): Promise<string> => {
      const made = await endpoints.create({ url: 'http://127.0.0.1:1', events: ['*'] }, MIA);
      return made.endpoint.id;
    };
    const first = await make();
    const before = await insertOrders(world, { count: 2, closesInMs: 60_000 });
    await historyIsOver(world);
    const second = await make();
    const after = await insertOrders(world, { count: 1, closesInMs: 60_000 });
    await fanOutAll(world, world.get(FanOutEvents));
    const heard = async (endpoint: string): Promise<string[]> => {
      const rows = await world.rows<{ id: string }>(
        'SELECT order_id AS id FROM webhook_deliveries WHERE endpoint_id = $1',
        [endpoint],
      );
      return rows.map(({ id }) => id).sort();
    };
    const ids = [...before, ...after].map(({ id }) => id);
    expect(await heard(first)).toEqual(ids.sort());
    expect(await heard(second)).toEqual(after.map(({ id }) => id));
  });
});
