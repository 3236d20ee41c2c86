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
/** Longer than transactions that append movements take. */
const RAISE_EVERY_S = 10;
/** Statements of a lane in one run: half a million movements, then the next run goes on. */
const MAX_STEPS = 250;
/** Each on a connection of its own: of many products one folds less than two closers give back. */
const LANES = 2;
/** A run takes milliseconds; one that takes so long has what many orders of many products gave back. */
const BEHIND_AFTER_MS = 250;

interface Step {
  readonly last_id: string;
  readonly looked_at: number;
  readonly folded: number;
}

/**
 * Folds stock movements into the products. Changes of status only append movements, so they wait
 * for no product; here nobody waits for them: a product whose row somebody holds is left for the
 * next run. Several processes may do this at once, and so do the lanes of a run.
 */
@Injectable()
export class FoldStock {
  #raisedMs = -Infinity;
  #beganMs: number | undefined;

  constructor(@Inject(CLOSERS) private readonly dataSource: DataSource) {}

  /** True while a run takes long: what is not about stock or closing gives way to it. */
  get isBehind(): boolean {
    return this.#beganMs !== undefined && performance.now() - this.#beganMs > BEHIND_AFTER_MS;
  }

  /** All that waits, or what one statement of each lane folds once it `stops`. */
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
    const first = await this.#step('0');
    if (isLast(first) || stops()) return first.folded;
    // They pass over each other's products, and so over each other.
    const lanes = Array.from({ length: LANES }, () => this.#foldFrom(first.last_id, stops));
    let folded = first.folded;
    // All of them, whatever becomes of one: no transaction goes on behind the run's back.
    for (const lane of await Promise.allSettled(lanes)) {
      if (lane.status === 'rejected') throw lane.reason;
      folded += lane.value;
    }
    return folded;
  }

  async #foldFrom(id: string, stops: () => boolean): Promise<number> {
    let folded = 0;
    for (let afterId = id, step = 0; step < MAX_STEPS; step++) {
      const done = await this.#step(afterId);
      folded += done.folded;
      if (isLast(done) || stops()) break;
      afterId = done.last_id;
    }
    return folded;
  }

  async #step(afterId: string): Promise<Step> {
    const [step] = await queryRows<Step>(this.dataSource, 'SELECT * FROM fold_stock($1, $2, $3)', [
      afterId,
      TO_LOOK_AT,
      MOST,
    ]);
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

const isLast = ({ looked_at: lookedAt }: Step): boolean => lookedAt < TO_LOOK_AT;

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
