import { createDataSource, loadConfig } from '@app/orders';
import { type Alarm, DatabaseClock, type TimerDriver, type TimerDriverKind } from '@app/timeout';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CpuSeconds, cpuBetween, groupSeconds } from '../cpu';
import type { BenchOptions, Cell, Question, Table } from '../question';
import { createWorld, type World } from '../world';
import { heapUsed } from './heap';
import { type Lag, Rings } from './rings';
import { askedKinds } from './subjects';
import { STORES, TimerStore } from './timer-store';

interface Size {
  readonly far: number;
  readonly perSecond: number;
  readonly seconds: number;
  readonly herd: number;
}

const SIZE: Size = { far: 20_000, perSecond: 1_000, seconds: 10, herd: 100_000 };
const QUICK: Size = { far: 500, perSecond: 100, seconds: 1, herd: 500 };
const CHUNK = 500;
const HOUR_MS = 3_600_000;
/** What has not rung so long after the last instant is lost; the sweep would have it long since. */
const LOST_AFTER_MS = 15_000;
/** The slowest takes its time over a herd, and loses none by that. */
const HERD_LOST_AFTER_MS = 120_000;
const LEAD_MS = 3_000;
/** Brokers take longer to start than a quick run has. */
const LEFT_OUT = 'left out of a quick run';

interface Measured {
  readonly armedPerSecond: number;
  /** Of an alarm that waits, in its store; undefined where it has none. */
  readonly storeBytes: number | undefined;
  readonly nodeBytes: number;
  /** Seconds for arming and ringing all of them, a thousand a second and the herd. */
  readonly cpu: CpuSeconds & { readonly broker: number };
  readonly alarms: number;
  readonly even: Lag;
  readonly herd: Lag;
  readonly restartMs: number | undefined;
}

export const drivers: Question = {
  name: 'drivers',
  asks: 'What does each timer driver cost, how late does it ring, and what does it lose?',
  async answer(options) {
    const size = options.quick ? QUICK : SIZE;
    const costs: Cell[][] = [];
    const lags: Cell[][] = [];
    for (const kind of askedKinds(options)) {
      const measured = await measure(kind, size, options);
      if (typeof measured === 'string') {
        options.say(`${kind.name}: NOT MEASURED: ${measured}`);
        costs.push([kind.name, `not measured: ${measured}`]);
        continue;
      }
      const { even, herd } = measured;
      options.say(`${kind.name}: p50 ${even.p50} ms, p99 ${even.p99} ms, lost ${even.lost}`);
      costs.push([kind.name, ...costCells(measured)]);
      lags.push([
        kind.name,
        ...[even.p50, even.p99, even.max, even.lost],
        ...[herd.p50, herd.lastMs, herd.lost, even.twice + herd.twice],
      ]);
    }
    return { tables: [costTable(size, costs), lagTable(size, lags)] };
  },
};

function costTable({ far, perSecond, herd }: Size, rows: readonly Cell[][]): Table {
  return {
    title: `${far.toLocaleString('en-US')} alarms an hour ahead, and what one costs from arming to ringing`,
    columns: [
      ...['driver', 'armed/s', 'bytes in the store', 'bytes in Node', 'restart to ring, ms'],
      ...['CPU us an alarm: Node', 'Postgres', 'Redis', 'broker'],
    ],
    rows,
    note:
      'Bytes of an alarm that waits: of a broker, what its files have grown by. Restart: from the start of a new driver to the ring of what came due while none ran; ' +
      `\`lost\` where it does not ring. CPU over ${perSecond.toLocaleString('en-US')} a second and a herd of ${herd.toLocaleString('en-US')}, ` +
      'by a process that arms, rings and keeps these figures.',
  };
}

function lagTable({ far, perSecond, herd }: Size, rows: readonly Cell[][]): Table {
  const [n, all, among] = [perSecond, herd, far].map((count) => count.toLocaleString('en-US'));
  return {
    title: `${n} due a second, and ${all} due at once, among the ${among}`,
    columns: [
      ...['driver', 'p50, ms', 'p99, ms', 'max, ms', 'lost'],
      ...['herd: p50, ms', 'herd: last, ms', 'herd: lost', 'rung twice'],
    ],
    rows,
    note:
      'One alarm an order (TIMER_GRANULARITY=order), no sweep behind it: what is lost, or of the thousand a second later than ' +
      `${LOST_AFTER_MS / 1_000} s, is what the sweep is for. One process arms and rings.`,
  };
}

function costCells({
  armedPerSecond,
  storeBytes,
  nodeBytes,
  restartMs,
  cpu,
  alarms,
}: Measured): Cell[] {
  const micros = [cpu.node, cpu.postgres, cpu.redis, cpu.broker].map((s) => (1e6 * s) / alarms);
  return [
    Math.round(armedPerSecond),
    storeBytes === undefined ? 'none' : Math.max(0, Math.round(storeBytes)),
    Math.max(0, Math.round(nodeBytes)),
    restartMs === undefined ? 'lost' : Math.round(restartMs),
    ...micros.map((us) => (us < 1 ? '–' : us.toFixed(0))),
  ];
}

/** A sentence instead of figures where this machine has no server for it. */
async function measure(
  kind: TimerDriverKind,
  size: Size,
  options: BenchOptions,
): Promise<Measured | string> {
  const starter = STORES.find(
    ({ setting }) => setting !== 'REDIS_URL' && kind.needs.includes(setting),
  );
  const missing = starter && options.quick && !options.drivers ? LEFT_OUT : starter?.missing();
  if (missing !== undefined) return missing;
  const store = starter && (await TimerStore.open(starter, options.say));
  const folder = mkdtempSync(join(tmpdir(), 'lastcall-bench-'));
  const world = await createWorld(options.servers);
  try {
    const given = { ...process.env, TIMER_WHEEL_FOLDER: folder, ...world.env };
    const where = store ? { [store.setting]: store.url } : {};
    const config = loadConfig({ ...given, ...where, TIMER_DRIVER: kind.name });
    const dataSource = await createDataSource(config, 'lastcall bench').initialize();
    try {
      const databaseClock = new DatabaseClock(dataSource);
      await databaseClock.measure();
      const open = (): Promise<TimerDriver> =>
        kind.create({
          ...{ settings: config, dataSource, databaseClock, prefix: 'lc' },
          onError: ({ message }) => options.say(`${kind.name}: ${message}`),
        });
      return await measureOpened({ open, clock: databaseClock, kind, size, world, store });
    } finally {
      await dataSource.destroy();
    }
  } finally {
    await world.close();
    await store?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Opened {
  readonly open: () => Promise<TimerDriver>;
  readonly clock: DatabaseClock;
  readonly kind: TimerDriverKind;
  readonly size: Size;
  readonly world: World;
  readonly store: TimerStore | undefined;
}

async function measureOpened({ open, clock, kind, size, world, store }: Opened): Promise<Measured> {
  const nowMs = (): number => clock.nowMs();
  const driver = await open();
  const [storeBefore, nodeBefore] = [await bytesIn(kind, world, store), heapUsed()];
  const startedMs = performance.now();
  await armAll(
    driver,
    Array.from({ length: size.far }, (_, n) => ring(`far-${n}`, nowMs() + HOUR_MS + n)),
  );
  const armedPerSecond = (1_000 * size.far) / (performance.now() - startedMs);
  const nodeAfter = heapUsed();
  const storeAfter = await bytesIn(kind, world, store);
  const perAlarm = (before: number, after: number): number => (after - before) / size.far;
  const usedBefore = usedSeconds(world, store);
  const rings = new Rings(nowMs);
  await driver.start(async (alarms) => rings.note(alarms));
  // By then all of them are armed.
  const leadMs = (count: number): number => LEAD_MS + (1_500 * count) / armedPerSecond;
  const total = size.perSecond * size.seconds;
  const evenFromMs = nowMs() + leadMs(total);
  const even = Array.from({ length: total }, (_, n) =>
    ring(`even-${n}`, evenFromMs + (1_000 * n) / size.perSecond),
  );
  await armAll(driver, even);
  const evenLag = await rings.lagOf(even, LOST_AFTER_MS);
  const herdAtMs = nowMs() + leadMs(size.herd);
  const herd = Array.from({ length: size.herd }, (_, n) => ring(`herd-${n}`, herdAtMs));
  await armAll(driver, herd);
  const herdLag = await rings.lagOf(herd, HERD_LOST_AFTER_MS);
  const used = usedSeconds(world, store);
  const late = [ring('late-1', nowMs() + 400)];
  await armAll(driver, late);
  await driver.stop();
  await new Promise((resolve) => setTimeout(resolve, 800));
  return {
    armedPerSecond,
    storeBytes:
      storeBefore === undefined || storeAfter === undefined
        ? undefined
        : perAlarm(storeBefore, storeAfter),
    nodeBytes: perAlarm(nodeBefore, nodeAfter),
    cpu: {
      ...cpuBetween(usedBefore, used),
      broker: used.broker - usedBefore.broker,
    },
    alarms: even.length + herd.length,
    even: evenLag,
    herd: herdLag,
    restartMs: await restart(open, late, nowMs),
  };
}

function usedSeconds(world: World, store: TimerStore | undefined): Measured['cpu'] {
  const broker = store?.group === undefined ? 0 : groupSeconds(store.group);
  return { ...world.cpu([process.pid]), broker };
}

/** Undefined when it does not ring what came due while nobody was there. */
async function restart(
  open: () => Promise<TimerDriver>,
  late: readonly Alarm[],
  nowMs: () => number,
): Promise<number | undefined> {
  const driver = await open();
  const rings = new Rings(nowMs);
  const startedMs = performance.now();
  const heard = new Promise<number>((resolve) => {
    void driver.start(async (alarms) => {
      rings.note(alarms);
      if (alarms.some(({ id }) => id === late[0]?.id)) resolve(performance.now() - startedMs);
    });
  });
  const limit = new Promise<undefined>((resolve) => setTimeout(resolve, 3_000, undefined));
  const tookMs = await Promise.race([heard, limit]);
  await driver.stop();
  return tookMs;
}

function ring(id: string, atMs: number): Alarm {
  return { id, at: new Date(Math.round(atMs)) };
}

async function armAll(driver: TimerDriver, alarms: readonly Alarm[]): Promise<void> {
  for (let start = 0; start < alarms.length; start += CHUNK) {
    await driver.arm(alarms.slice(start, start + CHUNK));
  }
}

/** What the driver's store takes, outside Node; undefined where it has none. */
async function bytesIn(
  { name, needs }: TimerDriverKind,
  world: World,
  store: TimerStore | undefined,
): Promise<number | undefined> {
  if (store) return store.bytes();
  if (needs.includes('REDIS_URL')) {
    return Number(/used_memory:(\d+)/.exec(await world.redis.info('memory'))?.[1]);
  }
  if (name !== 'postgres') return undefined;
  const [row] = await world.rows<{ bytes: string }>(
    `SELECT pg_total_relation_size('alarms') AS bytes`,
  );
  return Number(row?.bytes);
}
