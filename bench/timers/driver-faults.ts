import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fillPendingOrders, fillProducts } from '../orders-table';
import { type BenchProcess, startProgram } from '../processes';
import type { BenchOptions, Cell, Question } from '../question';
import { createWorld, type World } from '../world';
import { TIMER_FAULTS, type TimerFault } from './faults';
import { isAsked, ourSubjects, type Subject, THEIR_SUBJECTS } from './subjects';
import { STORES, TimerStore } from './timer-store';

interface Size {
  readonly perSecond: number;
  readonly seconds: number;
  /** Until the first is due: processes start, and hand their orders over. */
  readonly leadS: number;
  /** What has not closed so long after the last is due, and after the fault, is lost. */
  readonly patienceMs: number;
}

const SIZE: Size = { perSecond: 20, seconds: 15, leadS: 18, patienceMs: 20_000 };
const QUICK: Size = { perSecond: 5, seconds: 2, leadS: 8, patienceMs: 1_000 };
/** The fault comes so long after the first was due. */
const HIT_AFTER_MS = 4_000;
const LOOK_MS = 250;
const NONE = '–';

interface Outcome {
  readonly lost: number;
  readonly latestMs: number;
}

/** One after the other, whoever shares a store is hit by the same fault at the same moment. */
export const driverFaults: Question = {
  name: 'drivers-faults',
  asks: 'What is lost, and how late is the rest, when something breaks while orders come due?',
  async answer(options) {
    const size = options.quick ? QUICK : SIZE;
    const subjects = [...ourSubjects('order'), ...THEIR_SUBJECTS].filter(isAsked(options));
    const outcomes = new Map<Subject, Map<TimerFault, Outcome | string>>(
      subjects.map((subject) => [subject, new Map()]),
    );
    const isSmall = options.quick && !options.drivers;
    for (const starter of [undefined, ...(isSmall ? STORES.slice(0, 1) : STORES)]) {
      const sharers = subjects.filter(({ store }) => store === starter?.setting);
      if (sharers.length === 0) continue;
      const missing = starter?.missing();
      const possible = TIMER_FAULTS.filter(
        ({ needsStore }) => starter !== undefined || !needsStore,
      );
      const faults = isSmall ? possible.slice(-1) : possible;
      for (const fault of missing === undefined ? faults : []) {
        options.say(`${starter?.name ?? 'without a store'}: ${fault.name}`);
        const store = starter && (await TimerStore.open(starter, options.say));
        try {
          const found = await inTime(size, (leadS) =>
            under(fault, { sharers, store, size: { ...size, leadS }, options }),
          );
          for (const [subject, outcome] of found) {
            outcomes.get(subject)?.set(fault, outcome);
            options.say(`  ${subject.name}: ${asCell(outcome)}`);
          }
        } finally {
          await store?.stop();
        }
      }
      if (missing !== undefined) options.say(`${starter?.name}: NOT MEASURED: ${missing}`);
    }
    const row = (subject: Subject): Cell[] => [
      subject.name,
      ...TIMER_FAULTS.map((fault) => asCell(outcomes.get(subject)?.get(fault))),
    ];
    const columns = ['', ...TIMER_FAULTS.map(({ name }) => name)];
    const count = (size.perSecond * size.seconds).toLocaleString('en-US');
    return {
      tables: [
        {
          title: `Of ${count} orders, one alarm each: how many were never closed, and how late the latest of the others was`,
          columns,
          rows: subjects.filter(({ isOurs }) => isOurs).map(row),
          note:
            `The fault comes ${HIT_AFTER_MS / 1_000} s after the first was due; what is open ${size.patienceMs / 1_000} s after the ` +
            'last was due and the fault was over is lost. "Alone" is a driver without the backstop, which the product never ' +
            'runs: the difference is what the sweep is worth. All who share a store start at once, up to a dozen programs: of what is late after ' +
            'a kill most is their start. A dash: it has no store of its own, or this machine has none for it.',
        },
        {
          title: `The same ${count} orders, as people close them without lastcall`,
          columns,
          rows: subjects.filter(({ isOurs }) => !isOurs).map(row),
          note:
            'Each hands its orders to its timer when they are placed, and not again when it is started again. With windows mixed, a message ' +
            'with a short time to live waits behind one with a long one, without any fault.',
        },
      ],
    };
  },
};

function asCell(outcome: Outcome | string | undefined): string {
  if (outcome === undefined) return NONE;
  if (typeof outcome === 'string') return outcome;
  const latest = `${(outcome.latestMs / 1_000).toFixed(1)} s`;
  return outcome.lost === 0 ? latest : `**${outcome.lost} lost**, ${latest}`;
}

interface Trial {
  readonly sharers: readonly Subject[];
  readonly store: TimerStore | undefined;
  readonly size: Size;
  readonly options: BenchOptions;
}

/** Again with twice the time to start where orders came due before all had. */
async function inTime<T>(
  { leadS }: Size,
  attempt: (leadS: number) => Promise<T | 'too late'>,
): Promise<T> {
  for (let tryS = leadS; ; tryS *= 2) {
    const found = await attempt(tryS);
    if (found !== 'too late') return found;
  }
}

/** Each in a database of its own. */
async function under(
  fault: TimerFault,
  { sharers, store, size, options }: Trial,
): Promise<Map<Subject, Outcome> | 'too late'> {
  const runs = await Promise.all(sharers.map((subject) => Run.open(subject, store, options)));
  try {
    const dueAt = await Promise.all(runs.map((run) => run.fill(size)));
    await Promise.all(runs.map((run) => run.start(run.subject.firstArgs)));
    const firstAtMs = Math.min(...dueAt.map((at) => at.getTime()));
    if (Date.now() > firstAtMs) return 'too late';
    await until(firstAtMs + (options.quick ? 500 : HIT_AFTER_MS));
    const hit = {
      store,
      killProcesses: async () => void (await Promise.all(runs.map((run) => run.stop()))),
      startProcesses: async () =>
        void (await Promise.all(runs.map((run) => run.start(run.subject.againArgs)))),
      stepClocks: () => runs.forEach((run) => run.stepClock()),
    };
    await fault.hit(hit, options.quick);
    const overAtMs = Math.max(
      Date.now(),
      Math.max(...dueAt.map((at) => at.getTime())) + 1_000 * size.seconds,
    );
    for (;;) {
      const left = await Promise.all(runs.map((run) => run.countOpen()));
      if (left.every((count) => count === 0) || Date.now() > overAtMs + size.patienceMs) break;
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    return new Map(
      await Promise.all(runs.map(async (run) => [run.subject, await run.outcome()] as const)),
    );
  } finally {
    await Promise.all(runs.map((run) => run.close()));
  }
}

/** One subject with its database and its process. */
class Run {
  #process: BenchProcess | undefined;
  /** What a driver keeps on its own disk outlasts its process. */
  readonly #folder = mkdtempSync(join(tmpdir(), 'lastcall-bench-'));

  private constructor(
    readonly subject: Subject,
    private readonly world: World,
    private readonly store: TimerStore | undefined,
  ) {}

  static async open(
    subject: Subject,
    store: TimerStore | undefined,
    { servers }: BenchOptions,
  ): Promise<Run> {
    return new Run(subject, await createWorld(servers), store);
  }

  async fill({ perSecond, seconds, leadS }: Size): Promise<Date> {
    await fillProducts(this.world);
    const orders = { count: perSecond * seconds, dueInS: leadS, spreadS: seconds };
    return fillPendingOrders(this.world, orders);
  }

  async start(more: readonly string[]): Promise<void> {
    const { program, args, env } = this.subject;
    const where = this.store ? { [this.store.setting]: this.store.url } : {};
    this.#process = await startProgram(program, [...args, ...more], {
      ...this.world.env,
      ...where,
      ...env,
      TIMER_WHEEL_FOLDER: this.#folder,
    });
  }

  stepClock(): void {
    process.kill((this.#process as BenchProcess).pid, 'SIGUSR2');
  }

  async countOpen(): Promise<number> {
    const [row] = await this.world.rows<{ n: number }>(
      "SELECT count(*)::int AS n FROM orders WHERE status = 'pending_payment'",
    );
    return row?.n ?? 0;
  }

  async outcome(): Promise<Outcome> {
    const [row] = await this.world.rows<{ latest: number | null }>(
      `SELECT max(extract(epoch FROM closed_at - closes_at))::float8 * 1000 AS latest
         FROM orders WHERE status = 'closed'`,
    );
    return { lost: await this.countOpen(), latestMs: row?.latest ?? 0 };
  }

  async stop(): Promise<void> {
    await this.#process?.stop();
  }

  async close(): Promise<void> {
    await this.stop();
    await this.world.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function until(atMs: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, atMs - Date.now())));
}
