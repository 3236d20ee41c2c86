import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeFunction } from './change-function';

/**
 * Folding deletes a movement by its place and its id. By its place alone it also took what lies in
 * the same place of another partition, of a table that was partitioned: stock that nobody got back.
 */
export class FoldByPlaceAndId1764030000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const [before, after] of CHANGES) await changeFunction(runner, FUNCTION, before, after);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const [before, after] of CHANGES) await changeFunction(runner, FUNCTION, after, before);
  }
}

const FUNCTION = 'fold_stock_of(text[], bigint, int)';
const CHANGES: readonly (readonly [before: string, after: string])[] = [
  ['array_agg(place) AS places', 'array_agg(place) AS places, array_agg(id) AS ids'],
  ['RETURNING s.places', 'RETURNING s.places, s.ids'],
  [
    `WHERE u.ctid = ANY (ARRAY(SELECT unnest(places) FROM changed)) RETURNING`,
    // Within CASE, as a look-up: joined, it would be planned for one row of each.
    `WHERE u.ctid = ANY (ARRAY(SELECT unnest(places) FROM changed))
          AND CASE WHEN u.id IS NOT NULL THEN u.id IN (SELECT unnest(ids) FROM changed) END RETURNING`,
  ],
];
