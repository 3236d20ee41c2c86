import { queryRows, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { CLOSERS } from '../data-source';
import type { Queryable } from '../order/order-rows';

export interface FoldCounts {
  readonly folded: number;
}

/** Movements one statement begins with; it holds their products' rows, so it has to be short. */
const TO_LOOK_AT = 250;
/** Movements one statement folds: of few products there may be many. */
const MOST = 2_000;
/** Lanes fold them in a tenth of a second; a herd gives back as many in a quarter where there are tens of thousands of products. */
const MUCH = 20_000;
/** Longer than transactions that append movements take. */
const RAISE_EVERY_S = 10;
/** Statements of a lane in one run: half a million movements, then the next run goes on. */
const MAX_STEPS = 250;
/** Each on a connection of its own: of many products one folds less than two closers give back. */
const LANES = 2;
/** A run takes milliseconds; one that takes so long has what many orders of many products gave back. */
const BEHIND_AFTER_MS = 250;
/** More statements in a row than other lanes hold products: then one looks at many, as it will fold none. */
const MANY_IN_VAIN = 20;
const TO_LOOK_AT_IN_VAIN = 4_000;
/** So long a run looks at what others hold; it rests for so many times as long then. */
const MAX_VAIN_MS = 80;
const RESTS = 3;

/**
 * It passes over whatever row somebody holds. Of a table that somebody has locked, as REINDEX has the folded
 * movements', it hears soon, as it holds the rows of products while it waits.
 */
const LOCK_WAIT_MS = 50;
const STEP = `
  SELECT step.* FROM set_config('lock_timeout', '${LOCK_WAIT_MS}ms', true) AS is_set,
         LATERAL fold_stock(CASE WHEN is_set <> '' THEN $1::bigint END, $2, $3) AS step`;

interface Step {
  readonly last_id: string;
  readonly looked_at: number;
  readonly folded: number;
}

/** Where folding goes on: '0' once it has come to the end. */
interface Place {
  readonly afterId: string;
  /** Statements in a row, up to there, that found all their products held. */
  readonly inVain: number;
}

interface Lane {
  readonly folded: number;
  readonly next: Place;
  readonly vainMs: number;
}

/**
 * Folds stock movements into the products. Changes of status only append movements, so they wait
 * for no product; here nobody waits for them: a product whose row somebody holds is left for
 * another run. Several processes may do this at once, and so do the lanes of a run.
 */
@Injectable()
export class FoldStock {
  #raisedMs = -Infinity;
  #beganMs: number | undefined;
  /** Where the next run begins: behind what the last one had time for. */
  #next: Place = BEGINNING;
  #restsUntilMs = -Infinity;

  constructor(@Inject(CLOSERS) private readonly dataSource: DataSource) {}

  /** True while a run takes long: what is not about stock or closing gives way to it. */
  get isBehind(): boolean {
    return this.#beganMs !== undefined && performance.now() - this.#beganMs > BEHIND_AFTER_MS;
  }

  /** True where the last run has looked at little but products that others hold: let them end first. */
  get isResting(): boolean {
    return performance.now() < this.#restsUntilMs;
  }

  /** True where so many movements wait. */
  async hasMuch(movements = MUCH): Promise<boolean> {
    const [row] = await queryRows<{ count: number }>(
      this.dataSource,
      `SELECT count(*)::int FROM (
         SELECT FROM unfolded_stock_movements
          WHERE id > (SELECT from_id FROM stock_folding) ORDER BY id LIMIT $1) AS waiting`,
      [movements],
    );
    return row?.count === movements;
  }

  /**
   * All that waits, or what one statement of each lane folds once it `stops`. Of what others hold it
   * looks at a part, so that thousands of products which a merchant's UPDATE has for a minute cost
   * little and hide nothing: the next run goes on behind it.
   */
  async runOnce(stops: () => boolean = () => false): Promise<FoldCounts> {
    this.#beganMs = performance.now();
    try {
      if (this.#beganMs - this.#raisedMs >= RAISE_EVERY_S * 1_000) await this.raiseMark();
      return { folded: await this.#foldAll(stops) };
    } finally {
      this.#beganMs = undefined;
    }
  }

  async #foldAll(stops: () => boolean): Promise<number> {
    let all = 0;
    for (;;) {
      const from = this.#next;
      const folded = await this.#foldOn(stops);
      all += folded;
      // Once others have let go of what it was among, all of it: also what lies before where it began.
      const beganAmong = from.afterId !== BEGINNING.afterId || from.inVain > 0;
      const { afterId, inVain } = this.#next;
      const getsOn = inVain === 0 && (folded > 0 || afterId === BEGINNING.afterId);
      if (!beganAmong || !getsOn || stops()) return all;
    }
  }

  /** From where the last run ended. */
  async #foldOn(stops: () => boolean): Promise<number> {
    let place = this.#next;
    let folded = 0;
    let count = 1;
    if (place.inVain < MANY_IN_VAIN) {
      const first = await this.#step(place.afterId, TO_LOOK_AT);
      folded = first.folded;
      const isOver = first.looked_at < TO_LOOK_AT;
      place = isOver ? BEGINNING : after(first, place);
      this.#next = place;
      if (isOver || stops()) return folded;
      count = LANES;
    }
    // They pass over each other's products, and so over each other.
    const lanes = Array.from({ length: count }, (_, nth) => this.#foldFrom(place, stops, nth > 0));
    // All of them, whatever becomes of one: no transaction goes on behind the run's back.
    const done: Lane[] = [];
    for (const lane of await Promise.allSettled(lanes)) {
      if (lane.status === 'rejected') throw lane.reason;
      done.push(lane.value);
    }
    const { next, vainMs } = done[0] as Lane;
    this.#next = next;
    if (next.inVain >= MANY_IN_VAIN) {
      this.#restsUntilMs = performance.now() + RESTS * Math.min(vainMs, MAX_VAIN_MS);
    }
    return done.reduce((sum, lane) => sum + lane.folded, folded);
  }

  /** To the end, or as far as a run goes. One that only helps ends where there is nothing to help with. */
  async #foldFrom(from: Place, stops: () => boolean, helps: boolean): Promise<Lane> {
    let place = from;
    let folded = 0;
    let vainMs = 0;
    for (let step = 0; step < MAX_STEPS; step++) {
      const startedMs = performance.now();
      const isVain = place.inVain >= MANY_IN_VAIN;
      const toLookAt = isVain ? TO_LOOK_AT_IN_VAIN : TO_LOOK_AT;
      const done = await this.#step(place.afterId, toLookAt);
      folded += done.folded;
      // Whoever held them has let go: by many small statements again, of both lanes.
      if (isVain && done.folded > 0) return { folded, next: { ...place, inVain: 0 }, vainMs: 0 };
      vainMs = done.folded > 0 ? 0 : vainMs + performance.now() - startedMs;
      place = after(done, place);
      if (done.looked_at < toLookAt) return { folded, next: { ...place, afterId: '0' }, vainMs };
      if (stops() || vainMs > MAX_VAIN_MS || (helps && place.inVain >= MANY_IN_VAIN)) break;
    }
    return { folded, next: place, vainMs };
  }

  async #step(afterId: string, toLookAt: number): Promise<Step> {
    const [step] = await queryRows<Step>(this.dataSource, STEP, [afterId, toLookAt, MOST]);
    return step as Step;
  }

  /**
   * Looks at everything, in one of all processes, and lets folding begin behind what is gone: with
   * an old snapshot open the index still has it. What was numbered early and committed late is found.
   */
  async raiseMark(): Promise<void> {
    this.#raisedMs = performance.now();
    await queryRows(this.dataSource, 'SELECT raise_stock_mark($1)', [RAISE_EVERY_S]);
  }
}

/**
 * Folds all that is due of products that this transaction has locked: so much is available then.
 * Without a limit, as the answer is taken for the truth; nor would what stays, where books are wrong,
 * leave any room within one.
 */
export async function foldLocked(
  tx: Transaction,
  skus: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  await tx.hot('SELECT fold_stock_of($1, 0, NULL)', [skus]);
  const rows = await tx.hot<{ sku: string; available: number }>(
    'SELECT sku, available FROM products WHERE sku = ANY ($1::text[])',
    [skus],
  );
  return new Map(rows.map(({ sku, available }) => [sku, available]));
}

const BEGINNING: Place = { afterId: '0', inVain: 0 };

function after({ last_id: afterId, looked_at: lookedAt, folded }: Step, { inVain }: Place): Place {
  return { afterId, inVain: folded > 0 || lookedAt === 0 ? 0 : inVain + 1 };
}

/** Beyond that it is enough to know that there are very many. */
const MOST_COUNTED = 100_000;

/** How much waits to be folded, and for how long: that is less than a second, unless a row is held. */
export async function readUnfolded(
  sql: Queryable,
): Promise<{ readonly movements: number; readonly oldestSeconds: number }> {
  const [row] = await sql.rows<{ movements: number; age: string | null }>(
    `SELECT (SELECT count(*)::int FROM (SELECT FROM unfolded_stock_movements LIMIT $1) AS waiting)
              AS movements,
            (SELECT extract(epoch FROM now() - at) FROM unfolded_stock_movements
              ORDER BY id LIMIT 1) AS age`,
    [MOST_COUNTED],
  );
  return { movements: row?.movements ?? 0, oldestSeconds: Math.max(0, Number(row?.age ?? 0)) };
}
