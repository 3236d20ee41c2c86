import type { DataSource } from 'typeorm';
import {
  areBraked,
  type BrakeFacts,
  CLOCK_JUMPED,
  endOver,
  factsOf,
  type On,
  type Put,
  putOn,
  readOn,
  worstKind,
} from './brake-table';
import { ClockJumps } from './clock-jumps';
import { queryRows } from '../database/query-rows';

export interface BrakeOptions {
  /** The kinds that it stops: those whose handlers cannot be undone. */
  readonly kinds: readonly string[];
  /** The share of a kind's deadlines that may be due at once; null: the brake is off. */
  readonly share: number | null;
  /** A reason of the application's own to be careful, such as a provider that fails; or none. */
  readonly suspicion?: (() => string | undefined) | undefined;
  /**
   * True once what the application suspected, or another process of it, has been seen to be over since the brake is
   * on: not only heard of no more. Without this, or after a jump of the clock, an operator has to release it.
   */
  readonly isOver?: ((cause: string, onForMs: number) => boolean) | undefined;
  /** Told in each process that knew it to be on: what was suspected before is no reason any more. */
  readonly onReleased?: (() => void) | undefined;
  /** Told once in each process that the brake is on, and why: somebody has to look. */
  readonly onEngaged?: ((facts: BrakeFacts) => void) | undefined;
}

/** Fewer than that due at once are no disaster; more, where the cause comes and goes by itself. */
const FEWEST_AFTER_JUMP = 10;
const FEWEST = 100;
/** While a suspicion of the application's lasts, what is due is counted at most so often. */
const JUDGE_EVERY_MS = 250;

/** What has to be judged before anything of the kinds covered is handled. */
interface Suspect {
  readonly cause: string;
  readonly fewest: number;
}

/**
 * Stops timeouts that are about to handle a large share of everything at once while something is
 * wrong: the database's clock has jumped, or the application has a suspicion. An operator looks,
 * and releases it; a suspicion that is over ends by itself. Being many is not enough: a burst that is due is what this library is for. Another one
 * in the same schema, for other kinds, is on or off by itself.
 *
 * It fails closed. Every batch asks, with the clock that it is about to claim by; what looks
 * wrong stays so until a judgement has been passed, one for all who wait for it; and whether the
 * brake is on is read from Postgres in the batch's own transaction.
 */
export class Brake {
  /** Why it is on, as far as this process knows; undefined while it is off. */
  #engaged: Put | undefined;
  #suspect: Suspect | undefined;
  #judging: Promise<void> | undefined;
  #judgedMs = -Infinity;
  #timesEngaged = 0;
  #releasedMs = -Infinity;
  /** When a jump of the clock was seen last. */
  #jumpedMs = -Infinity;
  #hasLeftOff = false;

  constructor(
    private readonly dataSource: DataSource,
    private readonly options: BrakeOptions,
    private readonly jumps = new ClockJumps(dataSource),
  ) {}

  /** What no setting of a clock moves: to be read before the database's clock is asked for, in ms. */
  get uptimeMs(): () => number {
    return this.jumps.uptimeMs;
  }

  /** The kinds that it stops. */
  get kinds(): readonly string[] {
    return this.options.share === null ? [] : this.options.kinds;
  }

  /** True for kinds that it stops. */
  covers(kind: string): boolean {
    return this.kinds.includes(kind);
  }

  /** True while it is on, as far as this process knows. */
  get isOn(): boolean {
    return this.#engaged !== undefined;
  }

  /** True for kinds whose deadlines stand still, as far as this process knows. */
  holds(kind: string): boolean {
    return this.isOn && this.covers(kind);
  }

  /** For so long this kind has been going on since it stood still, in ms: what was due before is late by that. */
  freeForMs(kind: string): number {
    return this.covers(kind) ? this.uptimeMs() - this.#releasedMs : Infinity;
  }

  /** Grows as this process learns that it is on: what was read of it before may say it is off. */
  get timesEngaged(): number {
    return this.#timesEngaged;
  }

  /** What a batch has read of the brake: true while it is on, whoever has put it on. */
  isOnFor({ isBraked }: { readonly isBraked: boolean }): boolean {
    // Off: an operator has released it. On: the next sweep tells why, and somebody of it.
    if (!isBraked) this.#release();
    return isBraked;
  }

  /**
   * True when nothing may be claimed before {@link judge} has resolved. Compares a few numbers and
   * asks Postgres nothing. `databaseNow`: what its clock said, `askedMs`: {@link uptimeMs} before.
   */
  wantsToJudge(databaseNow: Date, askedMs: number): boolean {
    if (this.#doubtsClock(databaseNow, askedMs)) return true;
    const cause = this.options.suspicion?.();
    if (cause === undefined || this.uptimeMs() - this.#judgedMs < JUDGE_EVERY_MS) return false;
    this.#suspect = { cause, fewest: FEWEST };
    return true;
  }

  /** True also while anything else is being judged, with which a jump would be taken for known. */
  #doubtsClock(databaseNow: Date, askedMs: number): boolean {
    if (!this.jumps.knowsLast || this.#suspect) return true;
    if (!this.jumps.hasJumped(databaseNow, askedMs)) return false;
    this.#suspect = { cause: CLOCK_JUMPED, fewest: FEWEST_AFTER_JUMP };
    return true;
  }

  /** Passes the judgement that is wanted; rejects where it cannot, and it is still wanted then. */
  judge(): Promise<void> {
    this.#judging ??= this.#judgeOnce().finally(() => (this.#judging = undefined));
    return this.#judging;
  }

  /**
   * Looks for a jump, and at what other processes found and operators released. With every sweep. Switched
   * off, the first one releases what was on of its kinds: nobody waits for it, and later it would stop them anew.
   */
  async refresh(): Promise<void> {
    if (this.options.share === null) return this.#leaveOff();
    const on = await this.#look();
    if (on) this.#engage(on);
    await this.jumps.remember(this.kinds);
  }

  /** Once: what is on after that was put on by a process whose settings may be newer. */
  async #leaveOff(): Promise<void> {
    if (this.#hasLeftOff) return;
    await queryRows(
      this.dataSource,
      `UPDATE timeout_brakes
          SET released_at = now(), released_by = 'settings', release_reason = 'the brake is switched off'
        WHERE released_at IS NULL AND kind = ANY ($1)`,
      [this.options.kinds],
    );
    this.#hasLeftOff = true;
  }

  /** Asks Postgres: for those who only want to know. */
  async isEngaged(): Promise<boolean> {
    if (this.options.share === null) return false;
    const sql = `SELECT ${areBraked('$1')} AS "isOn"`;
    const [row] = await queryRows<{ isOn: boolean }>(this.dataSource, sql, [this.kinds]);
    return (row as NonNullable<typeof row>).isOn;
  }

  /** For those who handle a single deadline without ringing or sweeping. */
  async stops(): Promise<boolean> {
    if (this.options.share === null) return false;
    const on = await this.#look();
    if (on) this.#engage(on);
    return on !== undefined;
  }

  /**
   * True once a brake that holds this process is off: an operator has released it, or what was suspected is over.
   * For those for whom no alarm rings meanwhile.
   */
  async isReleased(): Promise<boolean> {
    if (!this.#engaged) return false;
    const askedMs = this.uptimeMs();
    const { now, on } = await readOn(this.dataSource, this.kinds);
    // The sweep judges a jump first, with this one still on: by such a clock anything has lasted for long.
    if (this.#doubtsClock(now, askedMs)) return true;
    return !on || this.#endIfOver(on);
  }

  /** True where this has released it. */
  async #endIfOver({ cause, onForMs }: On): Promise<boolean> {
    // A clock that has jumped since would have it on for as long as it has jumped.
    const forMs = Math.min(onForMs, this.uptimeMs() - this.#jumpedMs);
    if (cause === CLOCK_JUMPED || !this.options.isOver?.(cause, forMs)) return false;
    return endOver(this.dataSource, this.kinds, cause);
  }

  /** Why it is on, once nothing is left to be judged, or over; undefined while it is off. */
  async #look(): Promise<On | undefined> {
    for (;;) {
      const [askedMs, timesEngaged] = [this.uptimeMs(), this.#timesEngaged];
      const { now, on } = await readOn(this.dataSource, this.kinds);
      if (timesEngaged !== this.#timesEngaged) continue;
      // Before anything is judged: what was suspected until then is no reason.
      if (!on) this.#release();
      // While it is on, nothing but a jump would take its place.
      const isSuspect = on ? this.#doubtsClock(now, askedMs) : this.wantsToJudge(now, askedMs);
      if (isSuspect) await this.judge();
      else if (!on) return undefined;
      else if (!(await this.#endIfOver(on))) return on;
      // It may be put on anew.
      else this.#release();
    }
  }

  async #judgeOnce(): Promise<void> {
    if (!this.jumps.knowsLast) await this.jumps.recall(this.kinds);
    const suspect = this.#suspect;
    if (!suspect) return;
    const cause = await this.#causeBy(suspect);
    if (cause !== undefined) await this.#engageIfMany({ ...suspect, cause });
    // Only now: what could not be judged is still suspect.
    this.#suspect = undefined;
    this.jumps.accept();
    if (suspect.cause === CLOCK_JUMPED) this.#jumpedMs = this.uptimeMs();
    if (cause !== undefined) this.#judgedMs = this.uptimeMs();
  }

  /** What the application suspected may have ended while Postgres was away, or be something else by now. */
  async #causeBy({ cause }: Suspect): Promise<string | undefined> {
    if (cause !== CLOCK_JUMPED) return this.options.suspicion?.();
    return (await this.jumps.isKnown(this.kinds)) ? undefined : cause;
  }

  async #engageIfMany({ cause, fewest }: Suspect): Promise<void> {
    const { kinds, share } = this.options;
    const since = cause === CLOCK_JUMPED ? this.jumps.lastSeen : null;
    const worst = await worstKind(this.dataSource, { kinds, share, fewest, since });
    if (!worst) return;
    const put = await putOn(this.dataSource, this.kinds, { cause, ...worst });
    const on = put ?? (await readOn(this.dataSource, this.kinds)).on;
    if (!on) {
      throw new Error(
        'Another brake of this schema is on, and its tables are of an older version, with room for one: ' +
          'run the migrations',
      );
    }
    this.#engage(on);
  }

  #engage(on: Put): void {
    // One that is known has nobody ask anew: of many who look at once each would have all others.
    if (this.#engaged?.id === on.id) return;
    this.#engaged = on;
    this.#timesEngaged += 1;
    this.options.onEngaged?.(factsOf(on));
  }

  #release(): void {
    if (!this.#engaged) return;
    this.#engaged = undefined;
    this.#releasedMs = this.uptimeMs();
    // Whatever is suspected from now on is judged at once.
    this.#judgedMs = -Infinity;
    this.options.onReleased?.();
  }
}
