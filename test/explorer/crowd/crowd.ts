import { CancelOrder, LastcallError, ReadOrder, RelayEvents } from '@app/orders';
import { NoopLock } from '@app/timeout';
import type { Client } from 'pg';
import { Pace } from '../../../libs/timeout/src/pace';
import { insertOrders, insertProduct, TEST_SKU } from '../../support/insert-orders';
import { openWorld, type World } from '../../support/world';
import { type Outside, post } from '../actors';
import { findFaults, heal } from '../checks';
import { BrokenPromise, MACHINES_AHEAD_MS } from '../explorer';
import type { Actor } from '../scheduler';
import { SharedLock } from '../shared-lock';
import { Stage } from '../stage';
import { AlarmStore, StoredAlarms } from './alarm-store';
import {
  CROWD_PROCESSES,
  type CrowdAction,
  type CrowdProgram,
  describeCrowd,
  describeCrowdAction,
} from './crowd-program';
import { findLate } from './punctuality';

const CUSTOMER = 'ann';
/** Small ones, so that a crowd takes several, by several drainers. */
const BATCH = 40;
/** How many buyers come at once. */
const BUYERS = 4;
/** Things that happen to processes, not in them. */
const OUTSIDE = -1;
const OUTSIDE_ACTIONS = [
  ...['advance', 'crash', 'lose locks', 'hold'],
  ...['lose alarms', 'alarms away', 'alarms back'],
];

interface Process {
  readonly world: World;
  readonly alarms: StoredAlarms;
}

/** Runs programs of many orders on the real rings, sweeps, turns and claims of several workers. */
export class CrowdExplorer {
  readonly #processes = new Map<string, Process>();
  readonly #store: AlarmStore;
  #first: World | undefined;

  private constructor(private readonly stage: Stage) {
    this.#store = new AlarmStore(stage.scheduler);
  }

  static async open(): Promise<CrowdExplorer> {
    const { plan } = Pace.prototype;
    Pace.prototype.plan = function (this: Pace) {
      const given = plan.call(this);
      return { ...given, limit: Math.min(given.limit, BATCH) };
    };
    return new CrowdExplorer(await Stage.open());
  }

  close(): Promise<void> {
    return this.stage.close();
  }

  /** @throws {BrokenPromise} when a promise does not hold afterwards */
  async run(program: CrowdProgram): Promise<void> {
    const { time, locks, scheduler } = this.stage;
    time.nowMs = Date.now() - MACHINES_AHEAD_MS;
    time.earlyIds = program.earlyIds;
    const used: World[] = [];
    await this.stage.empty();
    for (let i = 0; i < CROWD_PROCESSES; i++) {
      const { world } = await this.#process(program, i);
      // Time begins anew with each program, and nobody may be misled by the one before.
      await world.timeouts.runSweep();
      used.push(world);
    }
    const outside = await this.#prepare(used[0] as World, program);
    const faults = await this.#play(program, outside);
    time.earlyIds = false;
    scheduler.fireLeftTimers();
    locks.lose();
    this.#store.isAway = false;
    const { world, alarms } = await this.#process(program, 0);
    faults.push(...(await findLate({ world, alarms, time, program })));
    faults.push(...(await heal(world, outside, time)));
    faults.push(...(await findFaults(world, [...new Set([world, ...used])], outside)));
    if (faults.length === 0) return;
    throw new BrokenPromise(faults, describeCrowd(program), scheduler.trace);
  }

  async #prepare(world: World, { parties }: CrowdProgram): Promise<Outside> {
    world.provider.entries.clear();
    world.provider.unreachable = undefined;
    world.stream.events.splice(0);
    world.provider.around = (call, when) =>
      this.stage.scheduler.step(`provider: ${call}, ${when} its effect`, async () => undefined);
    this.#store.empty();
    await insertProduct(world, TEST_SKU, 1_000);
    const orderIds: string[] = [];
    const paymentIds: string[][] = [];
    for (const { count, closesInMs, isPaying } of parties) {
      const wanted = { count, closesInMs };
      const orders = await insertOrders(world, isPaying ? { ...wanted, payment: 'open' } : wanted);
      for (const { id, paymentId, amount } of orders) {
        orderIds.push(id);
        paymentIds.push(paymentId ? [paymentId] : []);
        if (paymentId) world.provider.open({ paymentId, amount, currency: 'EUR' });
      }
    }
    world.timeouts.alarms.forget();
    await world.timeouts.alarms.catchUp();
    // What is overdue has rung already, and nobody was there.
    this.#store.add([{ id: 'slot-0', at: new Date(this.stage.time.nowMs) }]);
    return {
      provider: world.provider,
      orderIds,
      paymentIds,
      posted: [],
      acknowledged: new Set(),
      placed: [],
      toldClosed: new Set(),
      unexpected: [],
    };
  }

  async #play(program: CrowdProgram, outside: Outside): Promise<string[]> {
    const { scheduler } = this.stage;
    const holders: Client[] = [];
    const actors = [];
    for (const [index, action] of program.actions.entries()) {
      const isOutside = OUTSIDE_ACTIONS.includes(action.do);
      const actor: Actor = {
        name: `${index} ${describeCrowdAction(action)}`,
        process: isOutside ? OUTSIDE : action.process,
      };
      const holder = action.do === 'hold' ? await this.stage.outsider() : undefined;
      if (holder) holders.push(holder);
      actors.push({ actor, act: () => this.#act(action, program, outside, holder) });
    }
    try {
      await scheduler.run(actors, program.schedule);
      return [];
    } catch (error) {
      // Whatever it left running would disturb the next program.
      for (let i = 0; i < CROWD_PROCESSES; i++) await this.#discard(keyOf(program, i));
      return [String(error)];
    } finally {
      await Promise.all(holders.map((holder) => holder.end()));
    }
  }

  async #act(
    action: CrowdAction,
    program: CrowdProgram,
    outside: Outside,
    holder: Client | undefined,
  ): Promise<void> {
    try {
      if (holder && action.do === 'hold') await this.#hold(action, outside, holder);
      else await this.#perform(action, program, outside);
    } catch (error) {
      const isAnswer = error instanceof LastcallError && error.code !== 'internal_error';
      if (!isAnswer && !this.stage.scheduler.isDead) outside.unexpected.push(error);
    }
  }

  async #perform(action: CrowdAction, program: CrowdProgram, outside: Outside): Promise<void> {
    const { time, locks, scheduler } = this.stage;
    const key = keyOf(program, action.process);
    switch (action.do) {
      case 'advance':
        time.nowMs += action.ms;
        return;
      case 'crash':
        scheduler.kill(action.process);
        return this.#discard(key);
      case 'lose locks':
        return locks.lose();
      case 'lose alarms':
        return this.#store.loseSome();
      case 'alarms away':
      case 'alarms back':
        this.#store.isAway = action.do === 'alarms away';
        return;
      case 'hold':
        return;
      default:
        // Whoever crashed is not there, nor are its actors.
        return this.#work(action, this.#processes.get(key) as Process, outside);
    }
  }

  async #work(action: CrowdAction, { world, alarms }: Process, outside: Outside): Promise<void> {
    const { time } = this.stage;
    switch (action.do) {
      case 'ring':
        return alarms.ringDue(time.nowMs);
      case 'look':
        if (await world.timeouts.sweep.takeMissed()) await world.timeouts.sweep.begin();
        return;
      case 'sweep':
        await world.timeouts.sweep.begin();
        return;
      case 'relay':
        await world.get(RelayEvents).runOnce();
        return;
      case 'read':
        await world.get(ReadOrder).read(outside.orderIds[action.nth] as string, CUSTOMER);
        return;
      case 'cancel': {
        const id = outside.orderIds[action.nth] as string;
        const { status } = await world.get(CancelOrder).cancel(id, CUSTOMER);
        if (status === 'closed') outside.toldClosed.add(id);
        return;
      }
      case 'pay some': {
        const open = outside.paymentIds
          .flat()
          .slice(action.nth % BUYERS)
          .slice(0, BUYERS);
        const notices = open.map((id) => outside.provider.pay(id, new Date(time.nowMs)));
        await Promise.all(notices.map((notice) => post(world, outside, notice)));
        return;
      }
      default:
        throw new Error(`No process does "${action.do}"`);
    }
  }

  /** Somebody outside has a row, until the schedule lets them go on. */
  async #hold(
    { what, nth }: Extract<CrowdAction, { do: 'hold' }>,
    outside: Outside,
    holder: Client,
  ): Promise<void> {
    const [table, column, value] =
      what === 'product' ? ['products', 'sku', TEST_SKU] : ['orders', 'id', outside.orderIds[nth]];
    const { scheduler } = this.stage;
    const pid = (holder as { processID?: number }).processID;
    await holder.query('BEGIN');
    const take = `SELECT 1 FROM ${table} WHERE ${column} = $1 FOR UPDATE`;
    await scheduler.step(`holds the ${what}`, () => holder.query(take, [value]), pid);
    await scheduler.step('lets go', () => holder.query('ROLLBACK'), pid);
  }

  async #process(program: CrowdProgram, index: number): Promise<Process> {
    const key = keyOf(program, index);
    const known = this.#processes.get(key);
    if (known) {
      (known.world.told as unknown[]).splice(0);
      return known;
    }
    const alarms = new StoredAlarms(this.#store);
    const world = await openWorld({
      databaseUrl: this.stage.url,
      lock: program.lock === 'on' ? new SharedLock(this.stage.locks) : new NoopLock(),
      driver: alarms,
      // Time leaps here without anybody having set a clock.
      settings: { BLAST_RADIUS: 'off' },
      ...(this.#first ? { beside: this.#first } : {}),
    });
    await world.timeouts.start();
    this.#first ??= world;
    const process = { world, alarms };
    this.#processes.set(key, process);
    return process;
  }

  async #discard(key: string): Promise<void> {
    const process = this.#processes.get(key);
    this.#processes.delete(key);
    if (process) await this.stage.cutOff(process.world);
  }
}

function keyOf({ lock }: CrowdProgram, index: number): string {
  return `${lock} ${index}`;
}
