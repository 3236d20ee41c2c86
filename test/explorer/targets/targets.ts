import type { Client } from 'pg';
import { fromPg } from '../../../libs/timeout/src/public';
import { idAtProvider, type LedgerProvider } from '../../support/ledger-provider';
import { KIND } from '../../support/numbered-shop';
import { BrokenPromise } from '../explorer';
import { PROCESSES } from '../program';
import type { Actor } from '../scheduler';
import { Stage } from '../stage';
import { actOnTargets, type TargetSurroundings } from './target-actors';
import { findTargetFaults, isTargetQuiet } from './target-checks';
import { clearTargetDesk } from './target-desk';
import { TargetOutside } from './target-outside';
import {
  describeTargetAction,
  describeTargets,
  type TargetProgram,
  type TargetStartingOrder,
} from './target-program';
import {
  AMOUNT,
  openTargetShop,
  PAYABLE_FOR_MS,
  TARGET_TABLES,
  type TargetShop,
} from './target-shop';

/** Things that happen to processes, not in them. */
const OUTSIDE = -1;
const OUTSIDE_ACTIONS: readonly string[] = [
  'advance',
  'crash',
  'silence',
  'lose answers',
  'answer',
  'refuse refunds',
];
/** More than the longest pause of anything that tries again. */
const ROUND_MS = 61_000;
const ROUNDS = 20;

/** Runs programs of a shop with an orders table of its own, on the real modules. */
export class TargetExplorer {
  readonly #processes = new Map<number, TargetShop>();

  private constructor(
    private readonly stage: Stage,
    /** Of the shop, outside of all programs. */
    private readonly client: Client,
  ) {}

  static async open(): Promise<TargetExplorer> {
    const stage = await Stage.open(undefined, TARGET_TABLES);
    stage.keepTime();
    return new TargetExplorer(stage, await stage.outsider());
  }

  async close(): Promise<void> {
    await this.client.end();
    await this.stage.close();
  }

  /** @throws {BrokenPromise} when a promise does not hold afterwards */
  async run(program: TargetProgram): Promise<void> {
    const used: TargetShop[] = [];
    await this.stage.begin({ ...program, answersAreLost: program.answers === 'lost' });
    this.stage.time.hostsLockLimit = program.locks === 'given up' ? '1ms' : '0';
    for (let i = 0; i < PROCESSES; i++) {
      const shop = await this.#process(i);
      shop.told.splice(0);
      Object.assign(shop.parts, { latePayment: program.latePayment });
      used.push(shop);
    }
    const outside = await this.#prepare(used[0] as TargetShop, program);
    const faults = await this.#play(program, outside);
    const trace = [...this.stage.scheduler.trace];
    const shop = await this.#process(0);
    Object.assign(shop.parts, { latePayment: program.latePayment });
    if (faults.length === 0) faults.push(...(await this.#heal(shop, outside)));
    const { monitor } = this.stage;
    faults.push(...(await findTargetFaults(monitor, [...new Set([shop, ...used])], outside)));
    if (faults.length === 0) return;
    throw new BrokenPromise(faults, describeTargets(program), trace);
  }

  /** Orders with their deadlines and payments, as the shop writes them; and what has become of them before. */
  async #prepare(shop: TargetShop, { orders, ids }: TargetProgram): Promise<TargetOutside> {
    const { providers, time } = this.stage;
    const known = [];
    const numbers = new TargetOutside(providers, []);
    for (const order of orders) {
      const id = await this.#place(shop, order);
      const payments = [];
      for (let n = 0; n < PAYMENTS[order.payment]; n++) {
        const at = providers[(order.provider + n) % providers.length] as LedgerProvider;
        const reference = numbers.nextReference();
        await this.client.query(
          `INSERT INTO payments (order_id, provider, reference, provider_id, amount, expires_at)
           VALUES ($1, $2, $3, $4, $5, $6)`,
          [
            ...[id, at.name, reference, ids === 'written' ? idAtProvider(reference) : null],
            ...[AMOUNT, new Date(time.nowMs + PAYABLE_FOR_MS)],
          ],
        );
        payments.push({ id: reference, at });
      }
      known.push({ id, payments });
    }
    const outside = new TargetOutside(providers, known);
    for (const [index, { payment }] of orders.entries()) {
      if (payment === 'closed')
        await shop.targets.close({ kind: KIND, orderId: known[index]?.id ?? '' }, 'before');
      if (payment !== 'paid' && payment !== 'paid twice') continue;
      for (const id of outside.paymentIds[index] ?? []) {
        await outside.bring(shop.targets, outside.pay(id, new Date(time.nowMs)));
      }
      await shop.runtime.service.drainAll('timer');
    }
    return outside;
  }

  async #place(shop: TargetShop, { closesInMs }: TargetStartingOrder): Promise<string> {
    await this.client.query('BEGIN');
    const { rows } = await this.client.query<{ id: number }>(
      'INSERT INTO orders DEFAULT VALUES RETURNING id',
    );
    const id = String(rows[0]?.id);
    const dueAt = new Date(this.stage.time.nowMs + closesInMs);
    await shop.runtime.timeouts.arm(fromPg(this.client), { kind: KIND, subjectId: id, dueAt });
    await this.client.query('COMMIT');
    return id;
  }

  async #play({ actions, schedule }: TargetProgram, outside: TargetOutside): Promise<string[]> {
    const { scheduler, time } = this.stage;
    const around: TargetSurroundings = {
      outside,
      time,
      isDead: () => scheduler.isDead,
      shop: (process) => this.#processes.get(process) as TargetShop,
      step: (what, act) => scheduler.step(what, async () => act()),
      crash: async (process) => {
        scheduler.kill(process);
        await this.#discard(process);
      },
    };
    const actors = actions.map((action, index) => {
      const process = OUTSIDE_ACTIONS.includes(action.do) ? OUTSIDE : action.process;
      const actor: Actor = { name: `${index} ${describeTargetAction(action)}`, process };
      return { actor, act: () => actOnTargets(action, around) };
    });
    try {
      await scheduler.run(actors, schedule);
      await this.stage.comeToRest();
      return [];
    } catch (error) {
      // Whatever it left running would disturb the next program.
      for (let i = 0; i < PROCESSES; i++) await this.#discard(i);
      return [String(error)];
    }
  }

  /** Providers answer and repeat what was not taken, operators look, time passes: until all is quiet. */
  async #heal(shop: TargetShop, outside: TargetOutside): Promise<string[]> {
    const { time, monitor } = this.stage;
    time.hostsLockLimit = '0';
    for (let round = 0; round < ROUNDS; round++) {
      // One whose answers are lost stays so for the first round: what it did is not known.
      for (const provider of outside.providers) {
        if (round > 0 || provider.unreachable === 'before') provider.unreachable = undefined;
      }
      // One after the other, and what each leaves behind in the background with it.
      const act = async (): Promise<void> => {
        for (const sent of outside.sent) {
          if (!outside.acknowledged.has(sent)) await outside.bring(shop.targets, sent);
        }
        if (round > 0) await clearTargetDesk(shop, outside);
        await shop.runtime.service.runSweep();
      };
      const failed = await this.#alone(act);
      if (failed !== undefined) return [`healing: ${failed}`];
      const isQuiet = round > 0 && (await isTargetQuiet(monitor));
      // Later than whoever asks: it is not by their webhooks alone that answers are heard.
      const isTold = round > 0 && outside.tellOfAll();
      if (isQuiet && !isTold) return [];
      time.pass(ROUND_MS);
    }
    const waits = await shop.targets.waiting();
    return [
      `nothing came to rest in ${ROUNDS} rounds`,
      ...waits.map(({ id, detail }) => `${id} waits: ${detail}`),
    ];
  }

  /** Without anybody beside it, and with what it leaves behind in the background. */
  async #alone(act: () => Promise<void>): Promise<string | undefined> {
    let failed: string | undefined;
    const actor: Actor = { name: 'heals', process: OUTSIDE };
    const caught = (): Promise<void> =>
      act().catch((error: unknown) => void (failed = String(error)));
    await this.stage.scheduler.run([{ actor, act: caught }], []);
    await this.stage.comeToRest();
    return failed;
  }

  async #process(index: number): Promise<TargetShop> {
    const known = this.#processes.get(index);
    if (known) return known;
    const shop = await openTargetShop(this.stage.url, this.stage.providers);
    this.#processes.set(index, shop);
    return shop;
  }

  /** kill -9: no statement of it follows, its transactions vanish, its connections too. */
  async #discard(index: number): Promise<void> {
    const shop = this.#processes.get(index);
    if (!shop) return;
    this.#processes.delete(index);
    await this.stage.cutOff([...shop.runtime.pools, shop.pool]);
  }
}

const PAYMENTS: Readonly<Record<TargetStartingOrder['payment'], number>> = {
  ...{ open: 1, 'two open': 2, paid: 1, 'paid twice': 2, closed: 1, none: 0 },
};
