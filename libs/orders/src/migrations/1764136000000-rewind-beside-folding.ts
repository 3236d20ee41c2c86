import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeFunction } from './change-function';

/**
 * Nobody folds stock movements while they get new numbers: who had read one before that, and came to
 * delete it after, had counted it and did not find it any more, so that it was folded once more.
 */
export class RewindBesideFolding1764136000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await changeFunction(runner, REWIND, BEFORE, AFTER);
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeFunction(runner, REWIND, AFTER, BEFORE);
  }
}

const REWIND = 'rewind_relay(timestamptz)';
const BEFORE = 'LOCK TABLE operator_actions IN SHARE ROW EXCLUSIVE MODE;';
// After the orders, whose movements are written behind them.
const AFTER = `${BEFORE}
      LOCK TABLE unfolded_stock_movements IN SHARE ROW EXCLUSIVE MODE;`;
