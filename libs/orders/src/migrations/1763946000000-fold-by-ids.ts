import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeFunction } from './change-function';

/**
 * Folding deletes movements by their ids, product by product. It joined what it had changed to what
 * was due by name, and the plan that Postgres keeps for a function expects one row of each: 750
 * movements of 250 products took 190,000 comparisons, with the products' rows locked meanwhile.
 */
export class FoldByIds1763946000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const [before, after] of CHANGES) await changeFunction(runner, FUNCTION, before, after);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const [before, after] of CHANGES) await changeFunction(runner, FUNCTION, after, before);
  }
}

const FUNCTION = 'fold_stock_of(text[], bigint, int)';
const CHANGES: readonly (readonly [before: string, after: string])[] = [
  ['SELECT sku, coalesce(sum', 'SELECT sku, array_agg(id) AS ids, coalesce(sum'],
  ['RETURNING p.sku', 'RETURNING s.ids'],
  [
    `USING due d, changed c
        WHERE u.id = d.id AND d.sku = c.sku RETURNING`,
    `USING changed c, unnest(c.ids) AS folded (id)
        WHERE u.id = folded.id RETURNING`,
  ],
];
