import { beginHeldOpen } from '../../../../test/support/held-open';
import { insertOrders } from '../../../../test/support/insert-orders';
import { relayStage } from '../../../../test/support/relay-stage';
import { openWorld, type World } from '../../../../test/support/world';
import { OrderGuard } from '../order/order-guard';
import { Transaction } from '@app/timeout';
import { RelayEvents } from './relay-events';

let world: World;
let stage: ReturnType<typeof relayStage>;
beforeAll(async () => {
  world = await openWorld();
  stage = relayStage(world);
});
afterAll(() => world?.close());
beforeEach(() => {
  world.stream.events.splice(0);
  world.stream.before = async () => undefined;
});

async function begin() {
  const runner = await beginHeldOpen(world.dataSource);
  const commit = async () => {
    await runner.commitTransaction();
    await runner.release();
  };
  return { sql: new Transaction(runner), commit };
}

/** No time passes for who measures it while this is done, however long it takes, but what is said. */
async function timeless<T>(work: () => Promise<T>, passedMs = () => 0): Promise<T> {
  const startedMs = performance.now();
  const now = jest.spyOn(performance, 'now').mockImplementation(() => startedMs + passedMs());
  try {
    return await work();
  } finally {
    now.mockRestore();
  }
}

describe('RelayEvents', () => {
  beforeEach(() => world.rows('TRUNCATE orders, order_items, order_events, deadlines CASCADE'));

  it('relays each event once, in order for each order, and then has nothing to do', async () => {
    await stage.due(50);
    await world.timeouts.runSweep();
    await stage.othersEnded();
    expect(await stage.relay.runOnce()).toEqual({ relayed: 100 });
    expect(await stage.relay.runOnce()).toEqual({ relayed: 0 });
    await stage.expectComplete();
  });

  it("asks a stream of the shop's own to take something, or nothing at all", async () => {
    await stage.due(1);
    await stage.relayToTheEnd();
    // It was Redis that had come so far, before the shop had one of its own.
    await world.rows(`UPDATE relay_cursor SET stream_place = '1-0'`);
    const took = jest.spyOn(world.stream, 'append');
    expect(await stage.relay.runOnce()).toEqual({ relayed: 0 });
    expect(took).not.toHaveBeenCalled();
    // Nobody else's stream has come so far any more, also where nothing new comes.
    const places = await world.rows('SELECT stream_place FROM relay_cursor');
    expect(places).toEqual([{ stream_place: null }]);
    await stage.due(1);
    await stage.relayToTheEnd();
    expect(took.mock.calls.map(([events]) => events.length)).toEqual([1]);
    took.mockRestore();
  });

  it('relays more than fits into one batch', async () => {
    await stage.due(6_000);
    await stage.othersEnded();
    expect(await stage.relay.runOnce()).toEqual({ relayed: 6_000 });
    await stage.expectComplete();
  });

  it('notes what a slow stream has taken, before its transaction has been idle for too long', async () => {
    await stage.due(2_000);
    await stage.othersEnded();
    let [calls, passedMs] = [0, 0];
    world.stream.before = async () => {
      calls += 1;
      passedMs += 600;
      if (calls === 5) throw new Error('away');
    };
    const relaying = timeless(
      () => stage.relay.runOnce(),
      () => passedMs,
    );
    await expect(relaying).rejects.toThrow('away');
    world.stream.before = async () => undefined;
    expect(stage.sent()).toHaveLength(1_000);
    await stage.relayToTheEnd();
    expect(stage.sent()).toHaveLength(2_000);
    await stage.expectComplete();
  });

  it('gives way after a batch, and goes on from there', async () => {
    await stage.due(21_000);
    await stage.othersEnded();
    // Each batch of so large a transaction reads all of it.
    const batch = await timeless(() => stage.relay.runOnce(() => true));
    expect(batch).toEqual({ relayed: 20_000 });
    expect(await stage.relay.runOnce()).toEqual({ relayed: 1_000 });
    await stage.expectComplete();
  });

  it('reads a backlog once, a few transactions at a time', async () => {
    for (let transaction = 0; transaction < 4; transaction++) await stage.due(2_000);
    await stage.othersEnded();
    const batch = await timeless(() => stage.relay.runOnce(() => true));
    expect(batch).toEqual({ relayed: 4_000 });
    const again = await world.rows(
      `SELECT FROM order_events, relay_cursor
        WHERE tx >= tx_from AND tx < tx_until AND id <= last_id LIMIT 1`,
    );
    expect(again).toEqual([]);
    expect(await stage.relay.runOnce()).toEqual({ relayed: 4_000 });
    await stage.expectComplete();
  });

  it('does not lose what is committed late, after younger events', async () => {
    const [early] = await stage.due(1);
    // Of another product, whose row nobody else wants.
    const [late] = await insertOrders(world, { count: 1, closesInMs: -1, sku: 'POT' });
    const { sql: tx, commit } = await begin();
    const close = {
      from: 'pending_payment',
      to: 'closed',
      closeReason: 'payment_timeout',
    } as const;
    // Takes its ids now and commits last.
    await world
      .get(OrderGuard)
      .change(tx, { ...close, orderIds: [late?.id as string], by: 'timer' });
    await world.timeouts.runSweep();
    await stage.relay.runOnce();
    expect(stage.sent()).not.toContain(`${late?.id} 2`);
    await commit();
    await stage.othersEnded();
    await stage.relay.runOnce();
    expect(stage.sent()).toContain(`${late?.id} 2`);
    expect(stage.sent()).toContain(`${early?.id} 2`);
    await stage.expectComplete();
  });

  it('keeps the order of an order whose older transaction came second', async () => {
    const [order] = await stage.due(1);
    const orderIds = [order?.id as string];
    const [webhook, between, close] = await Promise.all([1, 2, 3].map(() => begin()));
    // Each gets its id now, in this turn; the close then overtakes the webhook.
    for (const tx of [webhook, between, close]) await tx?.sql.rows('SELECT pg_current_xact_id()');
    const by = { orderIds, closeReason: 'payment_timeout' } as const;
    const guard = world.get(OrderGuard);
    await guard.change(close?.sql as Transaction, {
      ...{ ...by, from: 'pending_payment', to: 'closing', by: 'timer' },
    });
    await close?.commit();
    await guard.change(webhook?.sql as Transaction, {
      ...{ orderIds, from: 'closing', to: 'paid', by: 'provider' },
    });
    await webhook?.commit();
    await stage.relay.runOnce();
    await between?.commit();
    await stage.othersEnded();
    await stage.relay.runOnce();
    expect(world.stream.events.map(({ to }) => to)).toEqual(['pending_payment', 'closing', 'paid']);
    await stage.expectComplete();
  });

  it('sends again what the stream did not take, in order', async () => {
    await stage.due(10);
    await world.timeouts.runSweep();
    await stage.othersEnded();
    world.stream.before = () => Promise.reject(new Error('away'));
    await expect(stage.relay.runOnce()).rejects.toThrow('away');
    world.stream.before = async () => undefined;
    await stage.relay.runOnce();
    await stage.expectComplete();
  });

  it('repeats a batch whose cursor was not written, and loses nothing', async () => {
    await stage.due(10);
    await stage.othersEnded();
    const createQueryRunner = world.dataSource.createQueryRunner.bind(world.dataSource);
    const spy = jest.spyOn(world.dataSource, 'createQueryRunner').mockImplementation((mode) => {
      const runner = createQueryRunner(mode);
      runner.commitTransaction = () => Promise.reject(new Error('crash'));
      return runner;
    });
    await expect(stage.relay.runOnce()).rejects.toThrow('crash');
    spy.mockRestore();
    await stage.relay.runOnce();
    expect(stage.sent().length).toBe(20);
    await stage.expectComplete();
  });

  it('has one leader: two at once send nothing twice and nothing out of order', async () => {
    const beside = await openWorld({ beside: world });
    await stage.due(1_500);
    await world.timeouts.runSweep();
    await stage.othersEnded();
    const both = [stage.relay, beside.get(RelayEvents)];
    for (let relayed = 1; relayed > 0;) {
      const counts = await Promise.all(both.map((one) => one.runOnce()));
      relayed = counts.reduce((sum, one) => sum + one.relayed, 0);
    }
    await beside.close();
    expect(stage.sent()).toHaveLength(3_000);
    await stage.expectComplete();
  });
});
