import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeFunction } from './change-function';

/**
 * Folding finds a product's movements by one index, which is the only one that can be used for it.
 * With two, Postgres chose between them by what it knew of a table that is empty nearly always: after
 * a burst had filled it, the wrong one was read as a whole for each product, until autovacuum had
 * counted anew.
 */
export class FoldBySku1763980000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP INDEX unfolded_stock_movements_of_sku`);
    // Not the id itself, which the primary key has as well.
    await runner.query(
      `CREATE INDEX unfolded_stock_movements_of_sku ON unfolded_stock_movements (sku, (id + 0))`,
    );
    for (const [before, after] of CHANGES) await changeFunction(runner, FUNCTION, before, after);
    for (const join of JOINS) await runner.query(`ALTER FUNCTION ${FUNCTION} SET ${join} = off`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const join of JOINS) await runner.query(`ALTER FUNCTION ${FUNCTION} RESET ${join}`);
    for (const [before, after] of CHANGES) await changeFunction(runner, FUNCTION, after, before);
    await runner.query(`DROP INDEX unfolded_stock_movements_of_sku`);
    await runner.query(
      `CREATE INDEX unfolded_stock_movements_of_sku ON unfolded_stock_movements (sku, id)`,
    );
  }
}

const FUNCTION = 'fold_stock_of(text[], bigint, int)';
/** Each would read all products, where a few are asked for by their name. */
const JOINS = ['enable_hashjoin', 'enable_mergejoin'];
const CHANGES: readonly (readonly [before: string, after: string])[] = [
  [
    'SELECT * FROM unfolded_stock_movements u',
    'SELECT u.*, u.ctid AS place FROM unfolded_stock_movements u',
  ],
  ['u.id > greatest', 'u.id + 0 > greatest'],
  ['ORDER BY u.sku, u.id LIMIT', 'ORDER BY u.sku, u.id + 0 LIMIT'],
  ['array_agg(id) AS ids', 'array_agg(place) AS places'],
  ['RETURNING s.ids', 'RETURNING s.places'],
  [
    `USING changed c, unnest(c.ids) AS folded (id)
        WHERE u.id = folded.id RETURNING`,
    `WHERE u.ctid = ANY (ARRAY(SELECT unnest(places) FROM changed)) RETURNING`,
  ],
];
