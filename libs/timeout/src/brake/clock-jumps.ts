import type { DataSource } from 'typeorm';
import { isContention } from '../database/database-errors';
import { bootId, machineUptimeMs } from './machine';
import { queryRows } from '../database/query-rows';

/** What a machine's clock would have to do to be a minute out by itself. */
const JUMP_MS = 60_000;

interface Remembered {
  readonly databaseAt: Date;
  readonly aheadMs: number;
}

/**
 * A jump is the database's clock having gone a minute further than this machine's uptime, which
 * no clock setting moves and no process survives: what it was is remembered in Postgres, so that
 * a restart forgets no jump and an hour's outage is none. What the database answered was so at
 * some uptime between asking and hearing it: an answer that was long on its way is no jump, and
 * none is made of the one after it.
 */
export class ClockJumps {
  /** The database's clock less this machine's uptime, in ms, as last seen. */
  #aheadMs: number | undefined;
  /** The latest that the database's clock has said before it jumped. */
  #seenMs: number | undefined;
  /** What it was once the clock had jumped, until somebody has judged that. */
  #jumpedToMs: number | undefined;
  #knowsLast = false;

  /**
   * `uptimeMs`: what no setting of a clock moves, in ms; `machine`: its name of this run of its kernel, under which
   * it is remembered, or undefined where it has none.
   */
  constructor(
    private readonly dataSource: DataSource,
    readonly uptimeMs: () => number = machineUptimeMs,
    private readonly machine: string | undefined = bootId(),
  ) {}

  /** True once {@link recall} has resolved: before that a jump may be unseen. */
  get knowsLast(): boolean {
    return this.#knowsLast;
  }

  /** The latest that the database's clock is known to have said before a jump: that one came after it. */
  get lastSeen(): Date | null {
    return this.#seenMs === undefined ? null : new Date(this.#seenMs);
  }

  /** `databaseNow`: what the database's clock said, `askedMs`: {@link uptimeMs} before. True until {@link accept}. */
  hasJumped(databaseNow: Date, askedMs: number): boolean {
    const leastMs = databaseNow.getTime() - this.uptimeMs();
    const mostMs = databaseNow.getTime() - askedMs;
    const knownMs = this.#aheadMs ?? mostMs;
    if (leastMs - knownMs > JUMP_MS) {
      this.#jumpedToMs = mostMs;
      return true;
    }
    // A late answer only refutes what cannot be.
    this.#aheadMs = Math.min(mostMs, Math.max(leastMs, knownMs));
    this.#see(databaseNow);
    return false;
  }

  /** What it has jumped to is what is known from now on. */
  accept(): void {
    this.#aheadMs = this.#jumpedToMs ?? this.#aheadMs;
    this.#jumpedToMs = undefined;
  }

  /**
   * What this machine was last seen at, by this process or one before it. `kinds`: who judges by it, here and below;
   * a brake for other kinds judges no jump for these.
   */
  async recall(kinds: readonly string[]): Promise<void> {
    const remembered = await this.#remembered(kinds);
    this.#knowsLast = true;
    if (!remembered) return;
    this.#aheadMs = remembered.aheadMs;
    this.#see(remembered.databaseAt);
  }

  /** True where another process of this machine has seen it jump before, and judged that: this one may have read little since. */
  async isKnown(kinds: readonly string[]): Promise<boolean> {
    const remembered = await this.#remembered(kinds);
    if (!remembered || this.#jumpedToMs === undefined) return false;
    return this.#jumpedToMs - remembered.aheadMs <= JUMP_MS;
  }

  #see(databaseNow: Date): void {
    this.#seenMs = Math.max(this.#seenMs ?? -Infinity, databaseNow.getTime());
  }

  async #remembered(kinds: readonly string[]): Promise<Remembered | undefined> {
    const [row] = await queryRows<{ database_at: Date; uptime_ms: string }>(
      this.dataSource,
      'SELECT database_at, uptime_ms FROM machine_clocks WHERE machine = $1',
      [this.#nameFor(kinds)],
    );
    if (!row) return undefined;
    const { database_at: databaseAt, uptime_ms: uptimeMs } = row;
    return { databaseAt, aheadMs: databaseAt.getTime() - Number(uptimeMs) };
  }

  /**
   * Of several processes on a machine, the one that has seen most of its time is right. While somebody holds
   * the row, or has locked the table, the next one to come by remembers: no sweep waits for a note.
   */
  async remember(kinds: readonly string[]): Promise<void> {
    if (!this.machine || this.#aheadMs === undefined) return;
    const uptimeMs = Math.round(this.uptimeMs());
    const remembered = queryRows(
      this.dataSource,
      `INSERT INTO machine_clocks AS m (machine, database_at, uptime_ms) VALUES ($1, $2, $3)
       ON CONFLICT (machine) DO UPDATE
         SET database_at = excluded.database_at, uptime_ms = excluded.uptime_ms
       WHERE excluded.uptime_ms > m.uptime_ms`,
      [this.#nameFor(kinds), new Date(uptimeMs + this.#aheadMs), uptimeMs],
    );
    await remembered.catch((error: unknown) => {
      if (!isContention(error)) throw error;
    });
  }

  #nameFor(kinds: readonly string[]): string {
    return [this.machine ?? '', ...kinds.toSorted()].join(' ');
  }
}
