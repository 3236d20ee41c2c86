import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';
import type { DataSource } from 'typeorm';
import { queryRows } from './transaction';

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
/** While a suspicion lasts, what is due is counted at most so often. */
const JUDGE_EVERY_MS = 250;

export const CLOCK_JUMPED = 'clock_jumped';

/**
 * Stops timeouts that are about to handle a large share of everything at once while something is
 * wrong: the database's clock has jumped, or the application has a suspicion. An operator looks,
 * and releases it. Being many is not enough: a burst that is due is what this library is for.
 *
 * A jump is the database's clock having gone a minute further than this machine's uptime, which
 * no clock setting moves and no process survives: what it was is remembered in Postgres, so that
 * a restart forgets no jump and an hour's outage is none.
 */
export class Brake {
  #engaged = false;
  #last: { readonly databaseMs: number; readonly uptimeMs: number } | undefined;
  #knowsLast = false;
  #judgedMs = -Infinity;

  constructor(
    private readonly dataSource: DataSource,
    private readonly options: BrakeOptions,
    private readonly uptimeMs: () => number = () => uptime() * 1_000,
    private readonly machine: string | undefined = bootId(),
  ) {}

  /** True for kinds whose deadlines have to wait for an operator. */
  holds(kind: string): boolean {
    return this.#engaged && this.options.kinds.includes(kind);
  }

  /**
   * To be called with the database's now before deadlines are claimed. Compares two numbers and
   * asks Postgres nothing, unless something is wrong.
   */
  async watch(databaseNow: Date): Promise<void> {
    if (this.options.share === null) return;
    if (!this.#knowsLast) await this.#recall();
    const seen = { databaseMs: databaseNow.getTime(), uptimeMs: this.uptimeMs() };
    const last = this.#last ?? seen;
    this.#last = seen;
    if (this.#engaged) return;
    const ranAhead = seen.databaseMs - last.databaseMs - (seen.uptimeMs - last.uptimeMs);
    if (ranAhead > JUMP_MS) return this.#judge(CLOCK_JUMPED, FEWEST_AFTER_JUMP);
    const suspicion = this.options.suspicion?.();
    if (suspicion === undefined || seen.uptimeMs - this.#judgedMs < JUDGE_EVERY_MS) return;
    this.#judgedMs = seen.uptimeMs;
    await this.#judge(suspicion, FEWEST);
  }

  /** {@link watch}, and what other processes found and operators released. With every sweep. */
  async refresh(databaseNow: Date): Promise<void> {
    if (this.options.share === null) return;
    await this.watch(databaseNow);
    const [state] = await queryRows<BrakeFacts>(
      this.dataSource,
      'SELECT cause, kind, due, waiting FROM timeout_brakes WHERE released_at IS NULL',
    );
    if (state) this.#engage(state);
    else this.#engaged = false;
    if (this.machine && this.#last) await this.#remember(this.machine, this.#last);
  }

  /** Asks Postgres: for those who only want to know. */
  async isEngaged(): Promise<boolean> {
    if (this.options.share === null) return false;
    const rows = await queryRows(
      this.dataSource,
      'SELECT 1 FROM timeout_brakes WHERE released_at IS NULL',
    );
    return rows.length > 0;
  }

  /** For those who handle a single deadline without ringing or sweeping: {@link watch}, and ask. */
  async stops(databaseNow: Date): Promise<boolean> {
    await this.watch(databaseNow);
    return (this.#engaged = await this.isEngaged());
  }

  async #judge(cause: string, fewest: number): Promise<void> {
    const { kinds, share } = this.options;
    const [worst] = await queryRows<{ kind: string; due: number; waiting: number }>(
      this.dataSource,
      `SELECT kind, due::int, waiting::int FROM unnest($1::text[]) AS kind,
         LATERAL (SELECT count(*) AS due FROM deadlines d
                   WHERE d.kind = kind.kind AND due_at <= now()) AS now_due,
         LATERAL (SELECT count(*) AS waiting FROM deadlines d WHERE d.kind = kind.kind
                     AND now_due.due >= $2) AS all_of_it
        WHERE due >= $2 AND due > $3::float8 * waiting
          AND NOT EXISTS (SELECT 1 FROM timeout_brakes WHERE released_at > now() - ${CONFIRMED_FOR})
        ORDER BY due DESC LIMIT 1`,
      [kinds, fewest, share],
    );
    if (!worst) return;
    await queryRows(
      this.dataSource,
      `INSERT INTO timeout_brakes (cause, kind, due, waiting) VALUES ($1, $2, $3, $4)
       ON CONFLICT DO NOTHING`,
      [cause, worst.kind, worst.due, worst.waiting],
    );
    this.#engage({ cause, ...worst });
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
    if (!row) return;
    this.#last = { databaseMs: row.database_at.getTime(), uptimeMs: Number(row.uptime_ms) };
  }

  /** Of several processes on a machine, the one that has seen most of its time is right. */
  async #remember(
    machine: string,
    { databaseMs, uptimeMs }: { databaseMs: number; uptimeMs: number },
  ): Promise<void> {
    await queryRows(
      this.dataSource,
      `INSERT INTO machine_clocks AS m (machine, database_at, uptime_ms) VALUES ($1, $2, $3)
       ON CONFLICT (machine) DO UPDATE
         SET database_at = excluded.database_at, uptime_ms = excluded.uptime_ms
       WHERE excluded.uptime_ms > m.uptime_ms`,
      [machine, new Date(databaseMs), Math.round(uptimeMs)],
    );
  }
}

/** Names one run of this machine's kernel; undefined where the system does not say. */
function bootId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return undefined;
  }
}
