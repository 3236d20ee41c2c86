import { ForceCloseOrder } from '@app/orders';
import { NoopLock } from '@app/timeout';
import type { Client } from 'pg';
import { CancelOrderByOperator } from '../../libs/orders/src/ops/cancel-order-by-operator';
import { insertOrders, insertProduct, TEST_SKU } from '../support/insert-orders';
import type { LedgerProvider } from '../support/ledger-provider';
import { openWorld, type World } from '../support/world';
import { act, type Surroundings } from './actors';
import { findFaults, heal } from './checks';
import { clearDesk } from './desk/desk';
import { endpointFaults, findGivenUp } from './endpoints/endpoint-checks';
import { Endpoints } from './endpoints/endpoints';
import { Outside } from './outside';
import {
  type Action,
  describeAction,
  describeProgram,
  type Program,
  PROCESSES,
  type StartingOrder,
} from './program';
import type { Actor } from './scheduler';
import { SharedLock } from './shared-lock';
import { Stage } from './stage';

const STOCK = 8;
/** Things that happen to processes, not in them. */
const OUTSIDE = -1;
const isOutside = (what: Action['do']): boolean =>
  ['advance', 'crash', 'lose locks', 'lose redis', 'linger', 'refuse refunds'].includes(what) ||
  what.startsWith('endpoint ');

/** Those whose payment has ended in our books as a program begins. */
const ENDED: readonly StartingOrder['payment'][] = ['failed', 'held'];
const OPERATOR = { actor: 'olga', reason: 'race' };

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

  private constructor(
    private readonly stage: Stage,
    private readonly endpoints: Endpoints,
  ) {}

  /** `keepsTime`: the shop's time passes where all wait, and not by an action alone. */
  static async open({ keepsTime = false } = {}): Promise<Explorer> {
    const stage = await Stage.open();
    if (keepsTime) stage.keepTime();
    return new Explorer(stage, await Endpoints.open(stage.scheduler, stage.time));
  }

  async close(): Promise<void> {
    await this.endpoints.close();
    await this.stage.close();
  }

  /** @throws {BrokenPromise} when a promise does not hold afterwards */
  async run(program: Program): Promise<void> {
    const used: World[] = [];
    for (let i = 0; i < PROCESSES; i++) used.push(await this.#process(program.lock, i));
    const outside = await this.#prepare(used[0] as World, program);
    const faults = await this.#play(program, outside);
    this.stage.locks.isAway = false;
    this.stage.locks.lose();
    // Whoever crashed is started again.
    const world = await this.#process(program.lock, 0);
    const { time } = this.stage;
    const tidy = program.hasDesk ? () => clearDesk(world, outside, time) : undefined;
    faults.push(...(await findGivenUp(world, this.endpoints)));
    faults.push(...(await heal(world, outside, time, tidy)));
    faults.push(...(await findFaults(world, [...new Set([world, ...used])], outside)));
    // Last, as it takes hours in which more would come due.
    faults.push(...(await this.endpoints.heal(world)));
    faults.push(...(await endpointFaults(world, this.endpoints)));
    if (faults.length === 0) return;
    throw new BrokenPromise(faults, describeProgram(program), this.stage.scheduler.trace);
  }

  async #play(program: Program, outside: Outside): Promise<string[]> {
    const { lock, actions, schedule } = program;
    const around: Omit<Surroundings, 'linger'> = {
      outside,
      endpoints: this.endpoints,
      time: this.stage.time,
      locks: this.stage.locks,
      isDead: () => this.stage.scheduler.isDead,
      world: (process) => this.#processes.get(`${lock} ${process}`) as World,
      crash: (process) => this.#crash(`${lock} ${process}`, process),
    };
    const outsiders: Client[] = [];
    const actors = [];
    for (const [index, action] of actions.entries()) {
      const actor: Actor = {
        name: `${index} ${describeAction(action)}`,
        process: isOutside(action.do) ? OUTSIDE : action.process,
      };
      const outsider = action.do === 'linger' ? await this.stage.outsider() : undefined;
      if (outsider) outsiders.push(outsider);
      const linger = async (): Promise<void> => outsider && this.stage.linger(outsider);
      actors.push({ actor, act: () => act(action, { ...around, linger }) });
    }
    try {
      await this.stage.scheduler.run(actors, schedule);
      await this.stage.comeToRest();
      return [];
    } catch (error) {
      // Whatever it left running would disturb the next program.
      for (let i = 0; i < PROCESSES; i++) await this.#discard(`${lock} ${i}`);
      return [String(error)];
    } finally {
      await Promise.all(outsiders.map((outsider) => outsider.end()));
    }
  }

  async #prepare(world: World, program: Program): Promise<Outside> {
    const { orders, answers, earlyIds, endpoints = [] } = program;
    await this.stage.begin({ earlyIds, answersAreLost: answers === 'lost' });
    world.stream.events.splice(0);
    await this.endpoints.begin(world, endpoints);
    await insertProduct(world, TEST_SKU, STOCK);
    const known = [];
    for (const { payment, provider, latePayment, closesInMs } of orders) {
      const [at, other] = [this.#provider(provider), this.#provider(provider + 1)];
      const [order] = await insertOrders(world, {
        ...{ count: 1, closesInMs, latePayment, quantity: 2, provider: at.name },
        ...(payment === 'none' ? {} : { payment: ENDED.includes(payment) ? 'failed' : 'open' }),
      });
      if (!order) throw new Error('No order was inserted');
      const payments = order.paymentId ? [{ id: order.paymentId, at }] : [];
      if (payment === 'two open') {
        payments.push({ id: await insertPayment(world, order.id, other.name), at: other });
      }
      known.push({ ...order, payments });
    }
    const outside = new Outside(this.stage.providers, known);
    for (const [index, { payment }] of orders.entries()) {
      const [orderId, [paymentId = ''] = []] = [known[index]?.id ?? '', outside.paymentIds[index]];
      if (payment === 'held') await world.get(ForceCloseOrder).forceClose(orderId, OPERATOR);
      if (!['paid', 'canceled', 'held'].includes(payment)) continue;
      await outside.deliver(world, outside.pay(paymentId, new Date(this.stage.time.nowMs)));
      if (payment === 'canceled') await world.get(CancelOrderByOperator).cancel(orderId, OPERATOR);
    }
    await this.endpoints.askTheRefusing(world);
    return outside;
  }

  #provider(index: number): LedgerProvider {
    const { providers } = this.stage;
    return providers[index % providers.length] as LedgerProvider;
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
      providers: this.stage.providers,
      // Those of a program are on this machine.
      settings: { WEBHOOKS_ALLOW_PRIVATE: 'on' },
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
    await this.stage.cutOff([world.dataSource, world.drainDataSource]);
  }
}

/** A second attempt to pay an order; the buyer may well finish both. */
async function insertPayment(world: World, orderId: string, at: string): Promise<string> {
  const [row] = await world.rows<{ id: string }>(
    `INSERT INTO payments (id, order_id, provider, provider_payment_id, amount, currency, expires_at)
     SELECT n.id, o.id, $2, 'pay-' || n.id, o.amount, o.currency, o.closes_at
       FROM orders o, (SELECT gen_random_uuid() AS id) AS n WHERE o.id = $1 RETURNING id`,
    [orderId, at],
  );
  return (row as { id: string }).id;
}
