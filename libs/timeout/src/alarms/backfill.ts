import type { DataSource } from 'typeorm';
import { alarmFor } from './alarm-for';
import type { Granularity } from '../slots';
import type { Clock } from '../clock';
import type { Deadline } from '../deadlines/deadline-handler';
import { failpoint } from '../failpoint';
import { instantParam } from '../database/instant-param';
import { inTransaction } from '../database/in-transaction';
import { keepToRate } from './keep-to-rate';
import { queryRows } from '../database/query-rows';
import type { Alarm, TimerDriver } from '../timer-driver';
import { armsAlarms, TimerAbilityError } from '../timer-limits';
import { NIL } from '../uuids';

export interface BackfillOptions {
  /** Only deadlines due at this instant or later. */
  readonly since?: Date | undefined;
  /** Deadlines read and armed at once. */
  readonly batch: number;
  /** At most so many deadlines a second, of those within the horizon; as fast as it goes when undefined. */
  readonly ratePerSecond?: number | undefined;
  /** Where an earlier run stopped: its `cursor`. */
  readonly resume?: string | undefined;
  /** True: counts, and arms nothing. */
  readonly dryRun?: boolean;
  /** Aborted: stops after the current batch. */
  readonly signal?: AbortSignal;
  onProgress?(progress: BackfillProgress): void;
}

export interface BackfillProgress {
  /** Deadlines there were when the run began (what was resumed after is not among them). */
  readonly total: number;
  /** Deadlines gone through so far: `covered + overdue + waiting`. */
  readonly done: number;
  /** Deadlines within the horizon, whose alarms are armed now. */
  readonly covered: number;
  /** Deadlines already due; one alarm rings for all of them at once. */
  readonly overdue: number;
  /** Deadlines beyond the horizon: they wait in Postgres until a sweep arms them. */
  readonly waiting: number;
  /** Alarms handed to the driver; those it already had count, too. */
  readonly alarms: number;
  /** Where to resume; undefined before the first batch. */
  readonly cursor: string | undefined;
}

export interface BackfillResult extends BackfillProgress {
  readonly interrupted: boolean;
}

export interface BackfillParts {
  readonly dataSource: DataSource;
  readonly driver: TimerDriver;
  readonly clock: Clock & { measure(): Promise<Date> };
  readonly kinds: readonly string[];
  readonly granularity: Granularity;
  readonly horizonMs: number;
  /** False in a process that does not ring. */
  readonly rings: boolean;
}

/** A place in the order in which a backfill reads: behind this deadline. */
interface Cursor {
  readonly kind: string;
  readonly dueAt: Date;
  readonly subjectId: string;
}

export class BackfillCursorError extends Error {
  readonly code = 'invalid_cursor';

  constructor(text: string) {
    super(`"${text}" is no cursor of a backfill: it looks like KIND/INSTANT/UUID`);
  }
}

/** Before every deadline there can be. */
const EARLIEST = new Date('0001-01-01');

/**
 * Arms the alarms again from the deadlines in Postgres, in the order of their primary key: a page
 * at a time, so that memory stays flat however many there are. Safe to repeat, and beside running
 * workers: an alarm armed twice is one alarm.
 */
export class Backfill {
  constructor(private readonly parts: BackfillParts) {}

  /**
   * @throws {TimerAbilityError} when alarms armed by this process would ring for nobody
   * @throws {BackfillCursorError} when `resume` is no cursor
   */
  async run(options: BackfillOptions): Promise<BackfillResult> {
    const { driver, rings } = this.parts;
    if (!options.dryRun && !armsAlarms(driver, rings)) {
      throw new TimerAbilityError(
        `Alarms of the driver ${driver.name} ring in the process that arms them: ` +
          'each worker arms its own from Postgres, and there is nothing to backfill from here',
      );
    }
    const resume = options.resume === undefined ? undefined : parseCursor(options.resume);
    const kinds = [...this.parts.kinds].sort();
    if (resume && !kinds.includes(resume.kind)) throw new BackfillCursorError(options.resume ?? '');
    const left = resume ? kinds.slice(kinds.indexOf(resume.kind)) : kinds;
    const now = await this.parts.clock.measure();
    const run = new Run(this.parts, options, now);
    for (const kind of left) {
      const start = resume?.kind === kind ? resume : startOf(kind, options.since);
      await run.count(start);
    }
    for (const kind of left) {
      const start = resume?.kind === kind ? resume : startOf(kind, options.since);
      if (!(await run.arm(start))) return { ...run.progress, interrupted: true };
    }
    return { ...run.progress, interrupted: false };
  }
}

/** Reads page after page behind `cursor`; see {@link Backfill}. */
class Run {
  readonly #armedIds = new Set<string>();
  readonly #startedMs = performance.now();
  readonly #horizon: Date;
  progress: BackfillProgress = {
    total: 0,
    done: 0,
    covered: 0,
    overdue: 0,
    waiting: 0,
    alarms: 0,
    cursor: undefined,
  };

  constructor(
    private readonly parts: BackfillParts,
    private readonly options: BackfillOptions,
    private readonly now: Date,
  ) {
    this.#horizon = new Date(now.getTime() + parts.horizonMs);
  }

  async count({ kind, dueAt, subjectId }: Cursor): Promise<void> {
    const [row] = await queryRows<{ n: string }>(
      this.parts.dataSource,
      'SELECT count(*) AS n FROM deadlines WHERE kind = $1 AND (due_at, subject_id) > ($2, $3)',
      [kind, instantParam(dueAt.getTime()), subjectId],
    );
    this.progress = { ...this.progress, total: this.progress.total + Number(row?.n ?? 0) };
  }

  /** One kind, from `start` to its last deadline. False when the signal stopped it. */
  async arm(start: Cursor): Promise<boolean> {
    let cursor = start;
    for (;;) {
      if (this.options.signal?.aborted) return false;
      const page = await this.#read(cursor);
      await this.#armPage(page);
      const last = page.at(-1);
      if (last) cursor = last;
      if (page.length < this.options.batch) break;
      const { ratePerSecond, signal } = this.options;
      const { covered, overdue } = this.progress;
      await keepToRate(covered + overdue, { startedMs: this.#startedMs, ratePerSecond, signal });
    }
    await this.#countWaiting(start);
    return true;
  }

  async #read(cursor: Cursor): Promise<Deadline[]> {
    const rows = await inTransaction(this.parts.dataSource, async (tx) => {
      // Right after a bulk load, without statistics, each page would be planned as a sort of all.
      await tx.rows(
        `SELECT set_config(name, 'off', true)
           FROM unnest('{enable_sort,enable_seqscan,enable_bitmapscan}'::text[]) AS s (name)`,
      );
      return tx.rows<{ subject_id: string; due_at: Date; version: number }>(
        `SELECT subject_id, due_at, version FROM deadlines
          WHERE kind = $1 AND (due_at, subject_id) > ($2, $3) AND due_at <= $4
          ORDER BY kind, due_at, subject_id LIMIT $5`,
        [
          cursor.kind,
          instantParam(cursor.dueAt.getTime()),
          cursor.subjectId,
          this.#horizon,
          this.options.batch,
        ],
      );
    });
    return rows.map((row) => ({
      kind: cursor.kind,
      subjectId: row.subject_id,
      dueAt: row.due_at,
      version: row.version,
    }));
  }

  async #armPage(page: readonly Deadline[]): Promise<void> {
    const fresh = new Map<string, Alarm>();
    for (const deadline of page) {
      const alarm = this.#alarmFor(deadline);
      if (!this.#armedIds.has(alarm.id)) fresh.set(alarm.id, alarm);
    }
    if (!this.options.dryRun) await this.parts.driver.arm([...fresh.values()]);
    await failpoint('backfill.armed');
    // Slots repeat from page to page and are bounded by the horizon; single alarms never repeat.
    if (this.parts.granularity !== 'subject') for (const id of fresh.keys()) this.#armedIds.add(id);
    const overdue = page.filter(({ dueAt }) => dueAt <= this.now).length;
    const last = page.at(-1);
    this.#advance({
      overdue,
      covered: page.length - overdue,
      alarms: fresh.size,
      cursor: last && cursorText(last),
    });
  }

  /** What is overdue in slots long past needs no alarm for each: one ring drains it all. */
  #alarmFor(deadline: Deadline): Alarm {
    const { granularity } = this.parts;
    const isOverdue = granularity !== 'subject' && deadline.dueAt <= this.now;
    return alarmFor(isOverdue ? { ...deadline, dueAt: this.now } : deadline, granularity);
  }

  async #countWaiting({ kind, dueAt, subjectId }: Cursor): Promise<void> {
    const [row] = await queryRows<{ n: string }>(
      this.parts.dataSource,
      `SELECT count(*) AS n FROM deadlines
        WHERE kind = $1 AND due_at > $2 AND (due_at, subject_id) > ($3, $4)`,
      [kind, this.#horizon, instantParam(dueAt.getTime()), subjectId],
    );
    this.#advance({ waiting: Number(row?.n ?? 0) });
  }

  #advance(by: Partial<Omit<BackfillProgress, 'total' | 'done'>>): void {
    const { covered, overdue, waiting, alarms } = this.progress;
    const next = {
      ...this.progress,
      covered: covered + (by.covered ?? 0),
      overdue: overdue + (by.overdue ?? 0),
      waiting: waiting + (by.waiting ?? 0),
      alarms: alarms + (by.alarms ?? 0),
      cursor: by.cursor ?? this.progress.cursor,
    };
    this.progress = { ...next, done: next.covered + next.overdue + next.waiting };
    this.options.onProgress?.(this.progress);
  }
}

function startOf(kind: string, since: Date | undefined): Cursor {
  return { kind, dueAt: since ?? EARLIEST, subjectId: NIL };
}

function cursorText({ kind, dueAt, subjectId }: Cursor): string {
  return `${kind}/${dueAt.toISOString()}/${subjectId}`;
}

function parseCursor(text: string): Cursor {
  const match = /^([\w-]+)\/([\dT:.-]+Z)\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(
    text,
  );
  const dueAt = new Date(match?.[2] ?? NaN);
  if (!match || Number.isNaN(dueAt.getTime())) throw new BackfillCursorError(text);
  return { kind: match[1] as string, dueAt, subjectId: match[3] as string };
}
