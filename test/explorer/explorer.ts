import { NoopLock } from '@app/timeout';
import { insertOrders, insertProduct, TEST_SKU } from '../support/insert-orders';
import { openWorld, type World } from '../support/world';
import { act, type Outside, type Surroundings } from './actors';
import { findFaults, heal } from './checks';
import { describeAction, describeProgram, type Program, PROCESSES } from './program';
import type { Actor } from './scheduler';
import { SharedLock } from './shared-lock';
import { Stage } from './stage';

/** Machines are an hour ahead of the database here: whoever decides by theirs closes too early. */
export const MACHINES_AHEAD_MS = 3_600_000;
const STOCK = 8;
/** Things that happen to processes, not in them. */
const OUTSIDE = -1;
const OUTSIDE_ACTIONS = ['advance', 'crash', 'lose locks', 'lose redis'];

/** A program that broke a promise, with the steps that led there. */
export class BrokenPromise extends Error {
  constructor(
    readonly faults: readonly string[],
    program: string,
    trace: readonly string[],
  ) {
    super([...faults, '', program, '', ...trace.map((line) => `  ${line}`)].join('\n'));
    this.name = 'BrokenPromise';
  }
}

/** Runs programs, one after the other, on the real modules and a database of its own. */
export class Explorer {
  readonly #processes = new Map<string, World>();
  /** Where all processes share the provider and the stream. */
  #first: World | undefined;

  private constructor(private readonly stage: Stage) {}

  static async open(): Promise<Explorer> {
    return new Explorer(await Stage.open());
  }

  close(): Promise<void> {
    return this.stage.close();
  }

  /** @throws {BrokenPromise} when a promise does not hold afterwards */
  async run(program: Program): Promise<void> {
    this.stage.time.nowMs = Date.now() - MACHINES_AHEAD_MS;
    const used: World[] = [];
    for (let i = 0; i < PROCESSES; i++) used.push(await this.#process(program.lock, i));
    const outside = await this.#prepare(used[0] as World, program);
    const faults = await this.#play(program, outside);
    this.stage.locks.isAway = false;
    this.stage.locks.lose();
    // Whoever crashed is started again.
    const world = await this.#process(program.lock, 0);
    faults.push(...(await heal(world, outside, this.stage.time)));
    faults.push(...(await findFaults(world, [...new Set([world, ...used])], outside)));
    if (faults.length === 0) return;
    throw new BrokenPromise(faults, describeProgram(program), this.stage.scheduler.trace);
  }

  async #play(program: Program, outside: Outside): Promise<string[]> {
    const { lock, actions, schedule } = program;
    const around: Surroundings = {
      outside,
      time: this.stage.time,
      locks: this.stage.locks,
      isDead: () => this.stage.scheduler.isDead,
      world: (process) => this.#processes.get(`${lock} ${process}`) as World,
      crash: (process) => this.#crash(`${lock} ${process}`, process),
    };
    const actors = actions.map((action, index) => {
      const isOutside = OUTSIDE_ACTIONS.includes(action.do);
      const actor: Actor = {
        name: `${index} ${describeAction(action)}`,
        process: isOutside ? OUTSIDE : action.process,
      };
      return { actor, act: () => act(action, around) };
    });
    try {
      await this.stage.scheduler.run(actors, schedule);
      return [];
    } catch (error) {
      // Whatever it left running would disturb the next program.
      for (let i = 0; i < PROCESSES; i++) await this.#discard(`${lock} ${i}`);
      return [String(error)];
    }
  }

  async #prepare(world: World, { orders, answers }: Program): Promise<Outside> {
    world.provider.entries.clear();
    world.provider.unreachable = answers === 'lost' ? 'after' : undefined;
    world.stream.events.splice(0);
    world.provider.around = (call, when) =>
      this.stage.scheduler.step(`provider: ${call}, ${when} its effect`, async () => undefined);
    await this.stage.empty();
    await insertProduct(world, TEST_SKU, STOCK);
    const inserted: { id: string; amount: number; paymentIds: string[] }[] = [];
    for (const { payment, latePayment, closesInMs } of orders) {
      const wanted = { count: 1, closesInMs, latePayment };
      const first = payment === 'two open' ? 'open' : payment;
      const given = first === 'none' ? wanted : { ...wanted, payment: first };
      const [order] = await insertOrders(world, given);
      if (!order) throw new Error('No order was inserted');
      const paymentIds = order.paymentId ? [order.paymentId] : [];
      if (payment === 'two open') paymentIds.push(await insertPayment(world, order.id));
      inserted.push({ ...order, paymentIds });
    }
    for (const { paymentIds, amount } of inserted) {
      for (const paymentId of paymentIds) {
        world.provider.open({ paymentId, amount, currency: 'EUR' });
      }
    }
    return {
      provider: world.provider,
      orderIds: inserted.map(({ id }) => id),
      paymentIds: inserted.map(({ paymentIds }) => paymentIds),
      posted: [],
      acknowledged: new Set(),
      placed: [],
      toldClosed: new Set(),
      unexpected: [],
    };
  }

  /** A process of the shop: the module with connections, groups and drains of its own. */
  async #process(lock: Program['lock'], index: number): Promise<World> {
    const key = `${lock} ${index}`;
    const known = this.#processes.get(key);
    if (known) {
      (known.told as unknown[]).splice(0);
      return known;
    }
    const world = await openWorld({
      databaseUrl: this.stage.url,
      lock: lock === 'on' ? new SharedLock(this.stage.locks) : new NoopLock(),
      ...(this.#first ? { beside: this.#first } : {}),
    });
    this.#first ??= world;
    this.#processes.set(key, world);
    return world;
  }

  /** kill -9: no statement of it follows, its transactions vanish, its connections too. */
  async #crash(key: string, index: number): Promise<void> {
    this.stage.scheduler.kill(index);
    await this.#discard(key);
  }

  async #discard(key: string): Promise<void> {
    const world = this.#processes.get(key);
    if (!world) return;
    this.#processes.delete(key);
    await this.stage.cutOff(world);
  }
}

/** A second attempt to pay an order; the buyer may well finish both. */
async function insertPayment(world: World, orderId: string): Promise<string> {
  const [row] = await world.rows<{ id: string }>(
    `INSERT INTO payments (id, order_id, provider, provider_payment_id, amount, currency, expires_at)
     SELECT n.id, o.id, 'sandbox', 'pay-' || n.id, o.amount, o.currency, o.closes_at
       FROM orders o, (SELECT gen_random_uuid() AS id) AS n WHERE o.id = $1 RETURNING id`,
    [orderId],
  );
  return (row as { id: string }).id;
}
