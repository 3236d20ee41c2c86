import { createDataSource, loadConfig } from '@app/orders';
import {
  type Alarm,
  DatabaseClock,
  type TimerDriver,
  timerDriverKinds,
  type TimerDriverKind,
} from '@app/timeout';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchOptions, Cell, Question } from './question';
import { percentile } from './statistics';
import { createWorld, type World } from './world';

interface Size {
  readonly far: number;
  readonly perSecond: number;
  readonly seconds: number;
  readonly herd: number;
}

const SIZE: Size = { far: 20_000, perSecond: 1_000, seconds: 10, herd: 20_000 };
const QUICK: Size = { far: 500, perSecond: 100, seconds: 1, herd: 500 };
const CHUNK = 500;
const HOUR_MS = 3_600_000;
/** What has not rung so long after the last instant is lost; the sweep would have it long since. */
const LOST_AFTER_MS = 15_000;
const LEAD_MS = 3_000;

interface Lag {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly lost: number;
  readonly twice: number;
  /** From the instant of the last alarm to the last ring. */
  readonly lastMs: number;
}

interface Measured {
  readonly armedPerSecond: number;
  readonly bytes: number | undefined;
  readonly even: Lag;
  readonly herd: Lag;
  readonly restartMs: number | undefined;
}

export const drivers: Question = {
  name: 'drivers',
  asks: 'What does each timer driver cost, how late does it ring, and what does it lose?',
  async answer(options) {
    const size = options.quick ? QUICK : SIZE;
    const rows: Cell[][] = [];
    const lags: Cell[][] = [];
    for (const kind of timerDriverKinds().values()) {
      const measured = await measure(kind, size, options);
      if (typeof measured === 'string') {
        options.say(`${kind.name}: NOT MEASURED: ${measured}`);
        rows.push([kind.name, 'not measured', measured, '']);
        continue;
      }
      const { armedPerSecond, bytes, even, herd, restartMs } = measured;
      options.say(`${kind.name}: p50 ${even.p50} ms, p99 ${even.p99} ms, lost ${even.lost}`);
      rows.push([
        kind.name,
        Math.round(armedPerSecond),
        bytes === undefined ? 'not told' : Math.round(bytes),
        restartMs === undefined ? 'lost' : Math.round(restartMs),
      ]);
      lags.push([
        kind.name,
        ...[even.p50, even.p99, even.max, even.lost],
        ...[herd.lastMs, herd.lost, even.twice + herd.twice],
      ]);
    }
    const [far, herd] = [size.far, size.herd].map((n) => n.toLocaleString('en-US'));
    return {
      tables: [
        {
          title: `${far} alarms an hour ahead`,
          columns: ['driver', 'armed/s', 'bytes an alarm', 'restart to ring, ms'],
          rows,
          note:
            'Bytes in the store, or in Node for drivers that keep alarms there. Restart: from the start of a new ' +
            'driver to the ring of what came due while none ran; `lost` where it does not ring.',
        },
        {
          title: `${size.perSecond.toLocaleString('en-US')} due a second, and ${herd} due at once, among the ${far}`,
          columns: [
            'driver',
            'p50, ms',
            'p99, ms',
            'max, ms',
            'lost',
            'herd: last, ms',
            'herd: lost',
            'rung twice',
          ],
          rows: lags,
          note:
            `One alarm an order (TIMER_GRANULARITY=order), no sweep behind it: what is lost, or later than ` +
            `${LOST_AFTER_MS / 1_000} s, is what the sweep is for. With slots of 100 ms there are ten alarms a second ` +
            'whatever the load, and a herd is one. One process arms and rings.',
        },
      ],
    };
  },
};

/** A sentence instead of figures where this machine has no server for it. */
async function measure(
  kind: TimerDriverKind,
  size: Size,
  options: BenchOptions,
): Promise<Measured | string> {
  const folder = mkdtempSync(join(tmpdir(), 'lastcall-bench-'));
  const given = { ...process.env, TIMER_WHEEL_FOLDER: folder };
  const missing = kind.needs.filter((name) => name !== 'REDIS_URL' && !process.env[name]);
  if (missing.length > 0) return `${missing.join(', ')} is not set`;
  const world = await createWorld(options.servers);
  const config = loadConfig({ ...given, ...world.env, TIMER_DRIVER: kind.name });
  const dataSource = await createDataSource(config, 'lastcall bench').initialize();
  const databaseClock = new DatabaseClock(dataSource);
  await databaseClock.measure();
  const open = (): Promise<TimerDriver> =>
    kind.create({
      settings: config,
      dataSource,
      databaseClock,
      prefix: 'lc',
      onError: ({ message }) => options.say(`${kind.name}: ${message}`),
    });
  const nowMs = (): number => databaseClock.nowMs();
  try {
    const driver = await open();
    const before = await bytesIn(kind, world);
    const startedMs = performance.now();
    await armAll(
      driver,
      Array.from({ length: size.far }, (_, n) => ring(`far-${n}`, nowMs() + HOUR_MS + n)),
    );
    const armedPerSecond = (1_000 * size.far) / (performance.now() - startedMs);
    const after = await bytesIn(kind, world);
    const rings = new Rings(nowMs);
    await driver.start(async (alarms) => rings.note(alarms));
    const total = size.perSecond * size.seconds;
    const evenFromMs = nowMs() + LEAD_MS + (2 * total) / 10;
    const even = Array.from({ length: total }, (_, n) =>
      ring(`even-${n}`, evenFromMs + (1_000 * n) / size.perSecond),
    );
    await armAll(driver, even);
    const evenLag = await rings.lagOf(even);
    const herdAtMs = nowMs() + LEAD_MS + size.herd / 5;
    const herd = Array.from({ length: size.herd }, (_, n) => ring(`herd-${n}`, herdAtMs));
    await armAll(driver, herd);
    const herdLag = await rings.lagOf(herd);
    const late = [ring('late-1', nowMs() + 400)];
    await armAll(driver, late);
    await driver.stop();
    await new Promise((resolve) => setTimeout(resolve, 800));
    const restarted = await restart(open, late, nowMs);
    const bytes =
      before === undefined || after === undefined ? undefined : (after - before) / size.far;
    return { armedPerSecond, bytes, even: evenLag, herd: herdLag, restartMs: restarted };
  } finally {
    await dataSource.destroy();
    await world.close();
    rmSync(folder, { recursive: true, force: true });
  }
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

/** Writes down when each alarm rang. */
class Rings {
  readonly #rungAtMs = new Map<string, number[]>();

  constructor(private readonly nowMs: () => number) {}

  note(alarms: readonly Alarm[]): undefined {
    const atMs = this.nowMs();
    for (const { id } of alarms) {
      const rung = this.#rungAtMs.get(id);
      if (rung) rung.push(atMs);
      else this.#rungAtMs.set(id, [atMs]);
    }
  }

  /** Waits until all have rung, or are lost. */
  async lagOf(alarms: readonly Alarm[]): Promise<Lag> {
    const lastAtMs = Math.max(...alarms.slice(-1).map(({ at }) => at.getTime()));
    while (alarms.some(({ id }) => !this.#rungAtMs.has(id))) {
      if (this.nowMs() > lastAtMs + LOST_AFTER_MS) break;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const rung = alarms.flatMap(({ id, at }) => {
      const times = this.#rungAtMs.get(id);
      return times ? [{ lagMs: (times[0] as number) - at.getTime(), times }] : [];
    });
    const lags = rung.map(({ lagMs }) => lagMs);
    const ms = (p: number): number => Math.round(percentile(lags, p));
    return {
      ...{ p50: ms(50), p99: ms(99), max: ms(100) },
      lost: alarms.length - rung.length,
      twice: rung.filter(({ times }) => times.length > 1).length,
      lastMs: Math.round(Math.max(0, ...rung.map(({ times }) => times[0] as number)) - lastAtMs),
    };
  }
}

function ring(id: string, atMs: number): Alarm {
  return { id, at: new Date(Math.round(atMs)) };
}

async function armAll(driver: TimerDriver, alarms: readonly Alarm[]): Promise<void> {
  for (let start = 0; start < alarms.length; start += CHUNK) {
    await driver.arm(alarms.slice(start, start + CHUNK));
  }
}

/** What the alarms take where the driver keeps them. */
async function bytesIn(
  { name, needs, abilities }: TimerDriverKind,
  world: World,
): Promise<number | undefined> {
  if (abilities.scope === 'process') {
    globalThis.gc?.();
    return process.memoryUsage().heapUsed;
  }
  if (needs.includes('REDIS_URL')) {
    return Number(/used_memory:(\d+)/.exec(await world.redis.info('memory'))?.[1]);
  }
  if (name !== 'postgres') return undefined;
  const [row] = await world.rows<{ bytes: string }>(
    `SELECT pg_total_relation_size('alarms') AS bytes`,
  );
  return Number(row?.bytes);
}
