import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeFunction } from './change-function';

/**
 * What has been folded stays in the index of movements until no snapshot needs it. With an old one
 * open (a dump, a forgotten transaction) folding and placing would read all of it again, each time:
 * so they look from a mark on, up to which everything is folded.
 */
export class FoldingFromAMark1763935000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(TABLE);
    for (const [name, before, after] of CHANGES) await changeFunction(runner, name, before, after);
    await runner.query(RAISE);
    await runner.query(GRANTS);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const [name, before, after] of CHANGES) await changeFunction(runner, name, after, before);
    await runner.query('DROP FUNCTION raise_stock_mark(int)');
    await runner.query('DROP TABLE stock_folding');
  }
}

/** One row. Movements are numbered before they are committed, so a mark is only believed later. */
const TABLE = `
  CREATE TABLE stock_folding (
    is_one  boolean        PRIMARY KEY DEFAULT true CHECK (is_one),
    from_id bigint         NOT NULL DEFAULT 0,
    next_id bigint         NOT NULL DEFAULT 0,
    seen_at timestamptz(3) NOT NULL DEFAULT '-infinity'
  );
  INSERT INTO stock_folding DEFAULT VALUES`;

const FROM_MARK = 'greatest(after_id, (SELECT from_id FROM stock_folding))';
const CHANGES: readonly (readonly [name: string, before: string, after: string])[] = [
  ['fold_stock_of(text[], bigint, int)', 'u.id > after_id', `u.id > ${FROM_MARK}`],
  ['fold_stock(bigint, int, int)', 'WHERE id > after_id', `WHERE id > ${FROM_MARK}`],
];

// Looks at all there is, also of what was numbered before the mark and committed after it was
// raised: then the mark goes back to it. What nobody has seen below `next_id` for `every_s`
// seconds, longer than those who append take, is believed to be none.
const RAISE = `
  CREATE FUNCTION raise_stock_mark(every_s int) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
  DECLARE lowest bigint;
  BEGIN
    PERFORM FROM stock_folding
      WHERE seen_at NOT BETWEEN now() - every_s * interval '1 s' AND now()
        FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN RETURN; END IF;
    SELECT coalesce(min(id) - 1, (SELECT id FROM stock_movements ORDER BY tx DESC, id DESC LIMIT 1))
      INTO lowest FROM unfolded_stock_movements;
    UPDATE stock_folding SET from_id = least(next_id, coalesce(lowest, next_id)),
           next_id = coalesce(lowest, next_id), seen_at = now();
  END $$`;

const GRANTS = `
  DO $$ BEGIN
    IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'lastcall_app') THEN
      GRANT SELECT, UPDATE ON stock_folding TO lastcall_app;
      REVOKE INSERT, DELETE ON stock_folding FROM lastcall_app;
    END IF;
  END $$`;
