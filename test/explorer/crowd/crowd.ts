import { NoopLock } from '@app/timeout';
import type { Client } from 'pg';
import { insertOrders, insertProduct, TEST_SKU } from '../../support/insert-orders';
import { openWorld, type World } from '../../support/world';
import { findFaults, heal } from '../checks';
import { BrokenPromise } from '../explorer';
import { Outside } from '../outside';
import type { Actor } from '../scheduler';
import { SharedLock } from '../shared-lock';
import { Stage } from '../stage';
import { AlarmStore, StoredAlarms } from './alarm-store';
import {
  actInCrowd,
  type CrowdSurroundings,
  OUTSIDE_ACTIONS,
  OUTSIDERS_ACTIONS,
  type Process,
} from './crowd-actors';
import {
  CROWD_PROCESSES,
  type CrowdProgram,
  describeCrowd,
  describeCrowdAction,
} from './crowd-program';
import { BATCH, instrumentDrains } from './drains';
import { findHeld } from './handler-bug';
import { endOfJump } from './jump';
import { goodMood, type Mood } from './mood';
import { findLate } from './punctuality';
import { findMisreported } from './shards';

/** Things that happen to processes, not in them. */
const OUTSIDE = -1;

/**
 * What takes longer, as until a silent handler is given up, would make orders late by the shop's time,
 * which stands still meanwhile; programs of few orders play it (checks.ts).
 */
const LONGEST_TIMER_MS = 10_000;
/** The shortest wait of what looks again by itself; drainers wait less for a turn, with nobody to be late. */
const LOOKS_AGAIN_AFTER_MS = 250;
/** Longer than anybody remembers what was wrong with others' subjects. */
const FORGOTTEN_AFTER_MS = 61_000;

/** Runs programs of many orders on the real rings, sweeps, turns and claims of several workers. */
export class CrowdExplorer {
  readonly #processes = new Map<string, Process>();
  readonly #store: AlarmStore;
  readonly #mood: Mood = goodMood(0);
  #first: World | undefined;

  private constructor(private readonly stage: Stage) {
    this.#store = new AlarmStore(stage.scheduler);
    instrumentDrains(this.#mood, stage.scheduler);
    stage.keepTime();
  }

  static async open(): Promise<CrowdExplorer> {
    const timers = {
      ...{ longestMs: LONGEST_TIMER_MS, outsideFromMs: LOOKS_AGAIN_AFTER_MS },
      // Else it is luck whether the machine is slow enough for what comes due within a slot.
      outsideOf: ['/libs/timeout/src/draining/slot-watch.ts'],
    };
    return new CrowdExplorer(await Stage.open(timers));
  }

  close(): Promise<void> {
    return this.stage.close();
  }

  /** @throws {BrokenPromise} when a promise does not hold afterwards */
  async run(program: CrowdProgram): Promise<void> {
    const { time, locks, scheduler } = this.stage;
    const used: World[] = [];
    await this.stage.begin(program);
    Object.assign(this.#mood, goodMood(program.batchTakesMs));
    time.forgetTimers();
    time.uptimeMs += FORGOTTEN_AFTER_MS;
    for (let i = 0; i < CROWD_PROCESSES; i++) {
      const { world } = await this.#process(program, i);
      // Time begins anew with each program, and nobody may be misled by the one before.
      await world.timeouts.runSweep();
      used.push(world);
    }
    const outside = await this.#prepare(used, program);
    const faults = await this.#play(program, outside);
    time.earlyIds = false;
    this.#mood.othersWaitMs = 0;
    if (this.#mood.bug === 'out') this.#mood.bug = 'rolled back';
    scheduler.fireLeftTimers();
    locks.lose();
    this.#store.isAway = false;
    const { world, alarms } = await this.#process(program, 0);
    if (program.actions.some((action) => action.do === 'jump')) {
      faults.push(...(await endOfJump(world, this.#mood.jumpedFromMs, BATCH)));
    }
    const alive = this.#alive(program);
    faults.push(...(await findLate({ world, alarms, time, program, alive })));
    faults.push(...(await findHeld(world)), ...this.#mood.faults);
    faults.push(...(await heal(world, outside, time)));
    faults.push(...(await findFaults(world, [...new Set([world, ...used])], outside)));
    faults.push(...(await findMisreported(world)));
    // Those that still stand still for what was rolled back would, in the next program too.
    if (this.#mood.bug !== 'to come') await this.#discardAll(program);
    if (faults.length === 0) return;
    throw new BrokenPromise(faults, describeCrowd(program), scheduler.trace);
  }

  async #prepare(worlds: readonly World[], { parties, outageMs }: CrowdProgram): Promise<Outside> {
    const { time, providers } = this.stage;
    const world = worlds[0] as World;
    world.stream.events.splice(0);
    this.#store.empty();
    await insertProduct(world, TEST_SKU, 1_000);
    const known = [];
    const paid: string[] = [];
    for (const { count, closesInMs, payments } of parties) {
      const isPaying = payments !== 'none';
      // Half of them pay at the one provider, half at the other.
      for (const at of isPaying ? providers : providers.slice(0, 1)) {
        const orders = await insertOrders(world, {
          ...{ count: isPaying ? count / providers.length : count, closesInMs },
          ...(isPaying ? { payment: 'open', provider: at.name } : {}),
        });
        for (const order of orders) {
          known.push({ ...order, payments: order.paymentId ? [{ id: order.paymentId, at }] : [] });
          if (order.paymentId && payments === 'paid') paid.push(order.paymentId);
        }
      }
    }
    const outside = new Outside(providers, known);
    for (const id of paid) await outside.deliver(world, outside.pay(id, new Date(time.nowMs)));
    // Nobody has looked since they were placed, so nobody believes that nothing is due before now.
    const placed = known.map(({ id, closesAt }) => {
      return { kind: 'payment', subjectId: id, dueAt: closesAt, version: 1 };
    });
    for (const { timeouts } of worlds) {
      timeouts.armed({ afterCommit: (work) => void work() }, placed);
      await timeouts.alarms.settled();
    }
    this.#store.empty();
    world.timeouts.alarms.forget();
    await world.timeouts.alarms.catchUp();
    // What is overdue has rung already, and nobody was there.
    this.#store.add([{ id: 'slot-0', at: new Date(time.nowMs) }]);
    time.pass(outageMs);
    return outside;
  }

  async #play(program: CrowdProgram, outside: Outside): Promise<string[]> {
    const outsiders: Client[] = [];
    const around: Omit<CrowdSurroundings, 'outsider'> = {
      stage: this.stage,
      store: this.#store,
      outside,
      mood: this.#mood,
      process: (index) => this.#processes.get(keyOf(program, index)) as Process,
      crash: async (index) => {
        this.stage.scheduler.kill(index);
        await this.#discard(keyOf(program, index));
      },
    };
    const actors = [];
    for (const [index, action] of program.actions.entries()) {
      const actor: Actor = {
        name: `${index} ${describeCrowdAction(action)}`,
        process: OUTSIDE_ACTIONS.includes(action.do) ? OUTSIDE : action.process,
      };
      const needsOne = OUTSIDERS_ACTIONS.includes(action.do);
      const outsider = needsOne ? await this.stage.outsider() : undefined;
      if (outsider) outsiders.push(outsider);
      actors.push({ actor, act: () => actInCrowd(action, { ...around, outsider }) });
    }
    try {
      await this.stage.scheduler.run(actors, program.schedule);
      return [];
    } catch (error) {
      // Whatever it left running would disturb the next program.
      await this.#discardAll(program);
      return [String(error)];
    } finally {
      await Promise.all(outsiders.map((outsider) => outsider.end()));
    }
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
      providers: this.stage.providers,
      settings: { CANCEL_PAID: 'until_shipped' },
      ...(this.#first ? { beside: this.#first } : {}),
    });
    await world.timeouts.start();
    this.#first ??= world;
    const process = { world, alarms };
    this.#processes.set(key, process);
    return process;
  }

  #alive(program: CrowdProgram): World[] {
    const keys = Array.from({ length: CROWD_PROCESSES }, (_, index) => keyOf(program, index));
    return keys.flatMap((key) => this.#processes.get(key)?.world ?? []);
  }

  async #discardAll(program: CrowdProgram): Promise<void> {
    for (let i = 0; i < CROWD_PROCESSES; i++) await this.#discard(keyOf(program, i));
  }

  async #discard(key: string): Promise<void> {
    const process = this.#processes.get(key);
    this.#processes.delete(key);
    if (!process) return;
    const { dataSource, drainDataSource } = process.world;
    await this.stage.cutOff([dataSource, drainDataSource]);
  }
}

function keyOf({ lock }: CrowdProgram, index: number): string {
  return `${lock} ${index}`;
}
