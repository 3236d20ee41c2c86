import type { DataSource } from 'typeorm';
import { isContention } from './database-errors';
import { inTransaction } from './in-transaction';
import { bootId, machineUptimeMs } from './machine';
import { queryRows } from './query-rows';

export interface BrakeOptions {
  /** The kinds that it stops: those whose handlers cannot be undone. */
  readonly kinds: readonly string[];
  /** The share of a kind's deadlines that may be due at once; null: the brake is off. */
  readonly share: number | null;
  /** A reason of the application's own to be careful, such as a provider that fails; or none. */
  readonly suspicion?: (() => string | undefined) | undefined;
  /** Told once in each process that the brake is on: somebody has to look. */
  readonly onEngaged?: ((facts: BrakeFacts) => void) | undefined;
}

/** Why the brake is on: so many of a kind's deadlines were due at once, and something was wrong. */
export interface BrakeFacts {
  readonly cause: string;
  readonly kind: string;
  readonly due: number;
  readonly waiting: number;
}

/** What a machine's clock would have to do to be a minute out by itself. */
const JUMP_MS = 60_000;
/** Fewer than that due at once are no disaster; more, where the cause comes and goes by itself. */
const FEWEST_AFTER_JUMP = 10;
const FEWEST = 100;
/** Whoever confirmed has seen what is due: it may all be handled before anybody asks again. */
const CONFIRMED_FOR = "interval '15 minutes'";
/** While a suspicion of the application's lasts, what is due is counted at most so often. */
const JUDGE_EVERY_MS = 250;

export const CLOCK_JUMPED = 'clock_jumped';

/** SQL: it stops one of these kinds. What else is on in the schema is another one's, as a host's beside orders. */
const isOn = (kinds: string): string => `released_at IS NULL AND kind = ANY (${kinds})`;
/** SQL: true while timeouts of these kinds stand still. */
export const areBraked = (kinds: string): string =>
  `EXISTS (SELECT FROM timeout_brakes WHERE ${isOn(kinds)})`;

/** What has to be judged before anything of the kinds covered is handled. */
interface Suspect {
  readonly cause: string;
  readonly fewest: number;
  /** What {@link Brake} takes the database's clock to be ahead of the uptime, once it is judged. */
  readonly aheadMs: number;
}

/**
 * Stops timeouts that are about to handle a large share of everything at once while something is
 * wrong: the database's clock has jumped, or the application has a suspicion. An operator looks,
 * and releases it. Being many is not enough: a burst that is due is what this library is for. Another one
 * in the same schema, for other kinds, is on or off by itself.
 *
 * A jump is the database's clock having gone a minute further than this machine's uptime, which
 * no clock setting moves and no process survives: what it was is remembered in Postgres, so that
 * a restart forgets no jump and an hour's outage is none. What the database answered was so at
 * some uptime between asking and hearing it: an answer that was long on its way is no jump, and
 * none is made of the one after it.
 *
 * It fails closed. Every batch asks, with the clock that it is about to claim by; what looks
 * wrong stays so until a judgement has been passed, one for all who wait for it; and whether the
 * brake is on is read from Postgres in the batch's own transaction.
 */
export class Brake {
  #engaged = false;
  /** The database's clock less this machine's uptime, in ms, as last seen. */
  #aheadMs: number | undefined;
  #knowsLast = false;
  #suspect: Suspect | undefined;
  #judging: Promise<void> | undefined;
  #judgedMs = -Infinity;
  #timesEngaged = 0;
  #hasLeftOff = false;

  constructor(
    private readonly dataSource: DataSource,
    private readonly options: BrakeOptions,
    /** What no setting of a clock moves: to be read before the database's clock is asked for. */
    readonly uptimeMs: () => number = machineUptimeMs,
    private readonly machine: string | undefined = bootId(),
  ) {}

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
    return this.#engaged;
  }

  /** True for kinds whose deadlines have to wait for an operator, as far as this process knows. */
  holds(kind: string): boolean {
    return this.#engaged && this.covers(kind);
  }

  /** Grows as a judgement of this process puts it on: what was read of it before may say it is off. */
  get timesEngaged(): number {
    return this.#timesEngaged;
  }

  /** What a batch has read of the brake: true while it is on, whoever has put it on. */
  isOnFor({ isBraked }: { readonly isBraked: boolean }): boolean {
    // Off: an operator has released it. On: the next sweep tells why, and somebody of it.
    if (!isBraked) this.#engaged = false;
    return isBraked;
  }

  /**
   * True when nothing may be claimed before {@link judge} has resolved. Compares a few numbers and
   * asks Postgres nothing. `databaseNow`: what its clock said, `askedMs`: {@link uptimeMs} before.
   */
  wantsToJudge(databaseNow: Date, askedMs: number): boolean {
    if (!this.#knowsLast || this.#suspect) return true;
    const nowMs = this.uptimeMs();
    const leastMs = databaseNow.getTime() - nowMs;
    const mostMs = databaseNow.getTime() - askedMs;
    const knownMs = this.#aheadMs ?? mostMs;
    if (leastMs - knownMs > JUMP_MS) {
      this.#suspect = { cause: CLOCK_JUMPED, fewest: FEWEST_AFTER_JUMP, aheadMs: mostMs };
      return true;
    }
    // A late answer only refutes what cannot be.
    const aheadMs = (this.#aheadMs = Math.min(mostMs, Math.max(leastMs, knownMs)));
    const cause = this.options.suspicion?.();
    if (cause === undefined || nowMs - this.#judgedMs < JUDGE_EVERY_MS) return false;
    this.#suspect = { cause, fewest: FEWEST, aheadMs };
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
    const state = await this.#look();
    if (state) this.#engage(state);
    else this.#engaged = false;
    await this.#remember();
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
    return (this.#engaged = (await this.#look()) !== undefined);
  }

  /** Why it is on, once nothing is left to be judged; undefined while it is off. */
  async #look(): Promise<BrakeFacts | undefined> {
    for (;;) {
      const askedMs = this.uptimeMs();
      const [seen] = await queryRows<{ now: Date; facts: BrakeFacts | null }>(
        this.dataSource,
        `SELECT clock_timestamp() AS now,
                (SELECT json_build_object('cause', cause, 'kind', kind, 'due', due, 'waiting', waiting)
                   FROM timeout_brakes WHERE ${isOn('$1')} ORDER BY engaged_at LIMIT 1) AS facts`,
        [this.kinds],
      );
      const { now, facts } = seen as NonNullable<typeof seen>;
      if (!this.wantsToJudge(now, askedMs)) return facts ?? undefined;
      await this.judge();
    }
  }

  async #judgeOnce(): Promise<void> {
    if (!this.#knowsLast) await this.#recall();
    const suspect = this.#suspect;
    if (!suspect) return;
    await this.#engageIfMany(suspect);
    // Only now: what could not be judged is still suspect.
    this.#suspect = undefined;
    this.#aheadMs = suspect.aheadMs;
    this.#judgedMs = this.uptimeMs();
  }

  async #engageIfMany({ cause, fewest }: Suspect): Promise<void> {
    const worst = await this.#worstKind(fewest);
    if (!worst) return;
    const values = [cause, worst.kind, worst.due, worst.waiting, this.kinds];
    const put = await inTransaction(this.dataSource, async (tx) => {
      // In turns: two workers that judge at once, by two kinds, would put on one each, and a person release one.
      await tx.rows('LOCK TABLE timeout_brakes IN SHARE ROW EXCLUSIVE MODE');
      return tx.rows(
        `INSERT INTO timeout_brakes (cause, kind, due, waiting)
         SELECT $1, $2, $3, $4 WHERE NOT ${areBraked('$5')} ON CONFLICT DO NOTHING RETURNING 1`,
        values,
      );
    });
    if (put.length === 0 && !(await this.isEngaged())) {
      throw new Error(
        'Another brake of this schema is on, and its tables are of an older version, with room for one: ' +
          'run the migrations',
      );
    }
    this.#timesEngaged += 1;
    this.#engage({ cause, ...worst });
  }

  /**
   * The kind of which most are due at once, where that is too large a share of it. Of what waits
   * no more is counted than tells so: a month's deadlines cost nothing.
   */
  async #worstKind(fewest: number): Promise<Omit<BrakeFacts, 'cause'> | undefined> {
    const { kinds, share } = this.options;
    const many = await queryRows<{ kind: string; due: number }>(
      this.dataSource,
      `SELECT kind, due::int FROM unnest($1::text[]) AS kind,
         LATERAL (SELECT count(*) AS due FROM deadlines d
                   WHERE d.kind = kind.kind AND due_at <= now()) AS now_due
        WHERE due >= $2
          AND NOT EXISTS (SELECT 1 FROM timeout_brakes b
                           WHERE released_at > now() - ${CONFIRMED_FOR} AND released_at <= now()
                             AND b.kind = ANY ($1))
        ORDER BY due DESC`,
      [kinds, fewest],
    );
    for (const { kind, due } of many) {
      const enough = share ? Math.ceil(due / share) : null;
      const [row] = await queryRows<{ waiting: number }>(
        this.dataSource,
        `SELECT count(*)::int AS waiting
           FROM (SELECT FROM deadlines WHERE kind = $1 LIMIT $2::bigint) AS counted`,
        [kind, enough],
      );
      const waiting = row?.waiting ?? 0;
      if (enough === null || waiting < enough) return { kind, due, waiting };
    }
    return undefined;
  }

  #engage(facts: BrakeFacts): void {
    if (this.#engaged) return;
    this.#engaged = true;
    this.options.onEngaged?.(facts);
  }

  /** What this machine was last seen at, by this process or one before it. */
  async #recall(): Promise<void> {
    const [row] = await queryRows<{ database_at: Date; uptime_ms: string }>(
      this.dataSource,
      'SELECT database_at, uptime_ms FROM machine_clocks WHERE machine = $1',
      [this.machine ?? ''],
    );
    this.#knowsLast = true;
    if (row) this.#aheadMs = row.database_at.getTime() - Number(row.uptime_ms);
  }

  /**
   * Of several processes on a machine, the one that has seen most of its time is right. While somebody holds
   * the row, or has locked the table, the next one to come by remembers: no sweep waits for a note.
   */
  async #remember(): Promise<void> {
    if (!this.machine || this.#aheadMs === undefined) return;
    const uptimeMs = Math.round(this.uptimeMs());
    const remembered = queryRows(
      this.dataSource,
      `INSERT INTO machine_clocks AS m (machine, database_at, uptime_ms) VALUES ($1, $2, $3)
       ON CONFLICT (machine) DO UPDATE
         SET database_at = excluded.database_at, uptime_ms = excluded.uptime_ms
       WHERE excluded.uptime_ms > m.uptime_ms`,
      [this.machine, new Date(uptimeMs + this.#aheadMs), uptimeMs],
    );
    await remembered.catch((error: unknown) => {
      if (!isContention(error)) throw error;
    });
  }
}
