import { onFailpoint } from '@app/timeout';
import { beginHeldOpen } from '../../../../test/support/held-open';
import { erasingOf, LIMITED } from '../../../../test/support/erasing';
import { insertProduct } from '../../../../test/support/insert-orders';
import { until } from '../../../../test/support/until';
import { openWorld, type World } from '../../../../test/support/world';
import { ADVISORY_LOCKS } from '../order/advisory-locks';
import { PageSessions } from '../sessions/page-sessions';

let world: World;
const letGo: (() => void)[] = [];
beforeAll(async () => {
  world = await openWorld({ settings: LIMITED, waitsForLocks: true });
  await insertProduct(world);
});
afterEach(() => {
  onFailpoint(undefined);
  letGo.splice(0).forEach((open) => open());
  jest.restoreAllMocks();
});
afterAll(() => world?.close());

const { erase, place, past, leftOf } = erasingOf(() => world);

/** Whoever reaches it stands still until it is let go. */
function gate(): { stop: () => Promise<void>; isReached: () => boolean; open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  letGo.push(() => open());
  let reached = false;
  const stop = (): Promise<void> => {
    reached = true;
    return opened;
  };
  return { stop, isReached: () => reached, open };
}

it('is refused at once while the customer is placing an order, and nothing is erased', async () => {
  await past('zoe');
  const before = await leftOf('zoe');
  const written = gate();
  onFailpoint((name) => (name === 'place.written' ? written.stop() : undefined));
  const placing = place('zoe');
  await until('the order is written', written.isReached);
  const streaming = jest.spyOn(world.stream, 'forgetReasons');
  await expect(erase('zoe')).rejects.toMatchObject({
    code: 'busy',
    message: 'The customer is placing an order; try again in a moment',
  });
  expect(streaming).not.toHaveBeenCalled();
  expect(await leftOf('zoe')).toEqual(before);
  written.open();
  await placing;
  await expect(erase('zoe')).rejects.toMatchObject({ code: 'customer_not_erasable' });
});

it('holds up no order that is placed beside it, and gives way to one of the same customer', async () => {
  await past('zac');
  const streaming = gate();
  jest.spyOn(world.stream, 'forgetReasons').mockImplementation(async () => {
    await streaming.stop();
    return 0;
  });
  const erasing = erase('zac').catch((error: unknown) => error);
  await until('all but the last is erased', streaming.isReached);
  await Promise.all([place('zac'), place('stranger')]);
  streaming.open();
  expect(await erasing).toMatchObject({ code: 'busy' });
  expect(await leftOf('zac')).toMatchObject({ orders: 4 });
});

it('leaves nothing that limits remember behind, and says so where a row of it is held', async () => {
  await past('zed');
  const before = await leftOf('zed');
  for (const table of ['unpaid_orders', 'unpaid_streaks']) {
    const holder = await beginHeldOpen(world.dataSource);
    await holder.query(`SELECT FROM ${table} WHERE customer_id = 'zed' LIMIT 1 FOR UPDATE`);
    await expect(erase('zed')).rejects.toMatchObject({ code: 'busy' });
    await holder.rollbackTransaction();
    await holder.release();
    expect(await leftOf('zed')).toEqual(before);
  }
  expect(await erase('zed')).toMatchObject({ orders: 3 });
  expect(Object.values(await leftOf('zed'))).toEqual([0, 0, 0, 0]);
});

describe('a link to the checkout of one of the orders', () => {
  const invite = (subject: string, orderId: string) =>
    world.get(PageSessions).invite({
      ...{ page: 'checkout', subject, scopes: ['orders'], orderId },
      ...{ codeLifetimeMs: 60_000, lifetimeMs: 60_000 },
    });
  const orderOf = async (customer: string) => {
    const sql = 'SELECT id FROM orders WHERE customer_id = $1 LIMIT 1';
    return (await world.rows<{ id: string }>(sql, [customer]))[0]?.id as string;
  };
  const sessionsOf = (customer: string) =>
    world.rows('SELECT FROM page_sessions WHERE subject = $1', [customer]);

  it('that is made while all else is erased goes, too', async () => {
    await past('ida');
    const orderId = await orderOf('ida');
    jest.spyOn(world.stream, 'forgetReasons').mockImplementation(async () => {
      await invite('ida', orderId);
      return 0;
    });
    expect(await erase('ida')).toMatchObject({ orders: 3 });
    expect(await sessionsOf('ida')).toEqual([]);
  });

  it('waits for the end of the erasure, and is then of an order that the customer has not', async () => {
    await past('ivy');
    const orderId = await orderOf('ivy');
    const erasing = await beginHeldOpen(world.dataSource);
    const turn = `SELECT pg_advisory_xact_lock(${ADVISORY_LOCKS.links}, hashtext('ivy'))`;
    await erasing.query(turn);
    await erasing.query(`UPDATE orders SET customer_id = 'erased:1' WHERE customer_id = 'ivy'`);
    const link = invite('ivy', orderId).catch((error: unknown) => error);
    const waits = `SELECT FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event = 'advisory'`;
    await Promise.race([link, until('it waits', async () => (await world.rows(waits)).length > 0)]);
    await erasing.commitTransaction();
    await erasing.release();
    expect(await link).toMatchObject({ code: 'order_not_found' });
    expect(await sessionsOf('ivy')).toEqual([]);
  });
});
