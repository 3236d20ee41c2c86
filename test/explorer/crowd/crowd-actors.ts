import { CancelOrder, LastcallError, ReadOrder, RelayEvents } from '@app/orders';
import type { Client } from 'pg';
import { TimeoutBrake } from '../../../libs/orders/src/ops/timeout-brake';
import { CreateRefund } from '../../../libs/orders/src/ops/create-refund';
import { FoldStock } from '../../../libs/orders/src/stock/fold-stock';
import { TEST_SKU } from '../../support/insert-orders';
import type { LedgerEntry } from '../../support/ledger-entry';
import type { World } from '../../support/world';
import type { Outside, Sent } from '../outside';
import type { Stage } from '../stage';
import type { AlarmStore, StoredAlarms } from './alarm-store';
import type { CrowdAction } from './crowd-program';
import type { Mood } from './mood';
import { sweepInShards, takePart } from './shards';

const CUSTOMER = 'ann';
export const OPERATOR = { actor: 'olga', reason: 'the clock was set' };
/** How many buyers come at once. */
const BUYERS = 4;
const AN_HOUR_MS = 3_600_000;
/** What a piece of an order costs, in minor units. */
const A_PIECE = 300;
/** Longer than drains may make others wait. */
const FELT_MS = 500;

export interface Process {
  readonly world: World;
  readonly alarms: StoredAlarms;
}

/** What a program's actors act on. */
export interface CrowdSurroundings {
  readonly stage: Stage;
  readonly store: AlarmStore;
  readonly outside: Outside;
  readonly mood: Mood;
  readonly process: (index: number) => Process;
  readonly crash: (index: number) => Promise<void>;
  /** Whose connection the program has made for an action that wants one. */
  readonly outsider: Client | undefined;
}

/** Things that happen to processes, not in them. */
export const OUTSIDE_ACTIONS: readonly CrowdAction['do'][] = [
  ...(['advance', 'crash', 'lose locks', 'hold', 'linger', 'jump'] as const),
  ...(['lose alarms', 'alarms away', 'alarms back', 'others wait', 'others are served'] as const),
  ...(['release a bug', 'roll back'] as const),
];
/** Those that need a connection of somebody else. */
export const OUTSIDERS_ACTIONS: readonly CrowdAction['do'][] = ['hold', 'linger'];

/** Does one action; refusals are answers, everything else that is thrown is unexpected. */
export async function actInCrowd(action: CrowdAction, around: CrowdSurroundings): Promise<void> {
  try {
    await perform(action, around);
  } catch (error) {
    const isAnswer = error instanceof LastcallError && error.code !== 'internal_error';
    if (!isAnswer && !around.stage.scheduler.isDead) around.outside.unexpected.push(error);
  }
}

async function perform(action: CrowdAction, around: CrowdSurroundings): Promise<void> {
  const { stage, store, mood, outside } = around;
  const after = 'after' in action ? (action.after ?? 0) : 0;
  for (let n = 0; n < after; n++) await stage.scheduler.step('is still to come', async () => {});
  switch (action.do) {
    case 'advance':
      return stage.time.pass(action.ms);
    case 'jump':
      mood.jumpedFromMs ??= stage.time.nowMs;
      return stage.time.jump(AN_HOUR_MS);
    case 'others wait':
    case 'others are served':
      mood.othersWaitMs = action.do === 'others wait' ? FELT_MS : 0;
      return;
    case 'release a bug':
      if (mood.bug === 'to come') mood.bug = 'out';
      return;
    case 'roll back':
      if (mood.bug === 'out') mood.bug = 'rolled back';
      return;
    case 'crash':
      return around.crash(action.process);
    case 'lose locks':
      return stage.locks.lose();
    case 'lose alarms':
      return store.loseSome();
    case 'alarms away':
    case 'alarms back':
      store.isAway = action.do === 'alarms away';
      return;
    case 'hold':
      return hold(action, around);
    case 'linger':
      return stage.linger(around.outsider as Client);
    default:
      // Whoever crashed is not there, nor are its actors.
      return work(action, around, around.process(action.process), outside);
  }
}

async function work(
  action: CrowdAction,
  { stage: { time }, mood }: CrowdSurroundings,
  { world, alarms }: Process,
  outside: Outside,
): Promise<void> {
  switch (action.do) {
    case 'ring':
      return alarms.ringDue(time.nowMs);
    case 'look':
      if (await world.timeouts.sweep.takeMissed()) await world.timeouts.sweep.begin();
      return;
    case 'sweep':
      await world.timeouts.sweep.begin();
      return;
    case 'sweep in shards':
      return sweepInShards(world);
    case 'take part':
      return takePart(world);
    case 'relay':
      await world.get(RelayEvents).runOnce();
      return;
    case 'fold':
      await world.get(FoldStock).runOnce();
      return;
    case 'confirm':
      await new TimeoutBrake(world.dataSource).release(OPERATOR);
      mood.jumpedFromMs = undefined;
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
      const notices = open.map((id) => outside.pay(id, new Date(time.nowMs)));
      await Promise.all(notices.map((notice) => outside.deliver(world, notice)));
      return;
    }
    case 'cancel paid':
    case 'take goods back':
      return comeBack(action.do, world, outside, action.nth);
    case 'refund by hand':
    case 'dispute':
      return outside.deliver(world, moveMoney(action.do, outside, action.nth));
    default:
      throw new Error(`No process does "${action.do}"`);
  }
}

/** One of those payments whose money has been taken. */
function paidEntry(outside: Outside, nth: number): LedgerEntry | undefined {
  const paid = outside.entries.filter(({ status }) => status === 'paid');
  return paid[nth % Math.max(1, paid.length)];
}

/** Of an order that has been paid for: all of it, or a piece. */
async function comeBack(
  what: 'cancel paid' | 'take goods back',
  world: World,
  outside: Outside,
  nth: number,
): Promise<void> {
  const entry = paidEntry(outside, nth);
  const index = outside.paymentIds.findIndex((ids) => ids.some((id) => `pay-${id}` === entry?.id));
  const orderId = outside.orderIds[index];
  if (!orderId) return;
  if (what === 'cancel paid') {
    await world.get(CancelOrder).cancel(orderId, CUSTOMER);
    return;
  }
  await world.get(CreateRefund).create(orderId, {
    ...{ actor: OPERATOR.actor, reason: 'came back', amount: A_PIECE },
    restock: [{ sku: TEST_SKU, quantity: 1 }],
  });
}

/** Of those whose money has been taken. */
function moveMoney(
  what: 'refund by hand' | 'dispute',
  outside: Outside,
  nth: number,
): Sent | undefined {
  const entry = paidEntry(outside, nth);
  const provider = entry && outside.at(entry.reference);
  if (!provider) return undefined;
  if (what === 'dispute') return outside.send(provider, provider.disputed(entry));
  return outside.send(provider, provider.refundedByHand(entry, entry.money?.amount ?? 0));
}

/** Somebody outside has a row, until the schedule lets them go on. */
async function hold(
  { what, nth }: Extract<CrowdAction, { do: 'hold' }>,
  { outside, outsider, stage: { scheduler } }: CrowdSurroundings,
): Promise<void> {
  const holder = outsider as Client;
  const [table, column, value] =
    what === 'product' ? ['products', 'sku', TEST_SKU] : ['orders', 'id', outside.orderIds[nth]];
  const pid = (holder as { processID?: number }).processID;
  await holder.query('BEGIN');
  const take = `SELECT 1 FROM ${table} WHERE ${column} = $1 FOR UPDATE`;
  await scheduler.step(`holds the ${what}`, () => holder.query(take, [value]), pid);
  await scheduler.step('lets go', () => holder.query('ROLLBACK'), pid);
}
