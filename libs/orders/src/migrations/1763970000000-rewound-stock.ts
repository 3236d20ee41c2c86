import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeFunction } from './change-function';

/**
 * Stock movements keep the transaction of their events (invariant 14). After a dump and restore
 * `rewind_relay` gives a new number to what was written since, but for events that are sealed: the
 * movements of these keep theirs too. Both clusters may have used one number, so their instant tells.
 * First those that are not folded, which folding moves to the others meanwhile: none is missed.
 */
export class RewoundStock1763970000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await changeFunction(runner, FUNCTION, BEFORE, AFTER);
  }

  async down(runner: QueryRunner): Promise<void> {
    await changeFunction(runner, FUNCTION, AFTER, BEFORE);
  }
}

const FUNCTION = 'rewind_relay(timestamptz)';
const ofAll = (table: string): string => `UPDATE ${table} SET tx = first_tx WHERE at >= sent_from;`;

const ofUnsealed = (table: string): string =>
  `UPDATE ${table} m SET tx = first_tx WHERE at >= sent_from AND NOT EXISTS (
        SELECT FROM order_events e WHERE e.tx = m.tx AND e.at = m.at AND e.id <= sealed_events);`;

const statements = (of: (table: string) => string, ...tables: readonly string[]): string =>
  tables.map(of).join('\n      ');
const BEFORE = statements(ofAll, 'stock_movements', 'unfolded_stock_movements');
const AFTER = statements(ofUnsealed, 'unfolded_stock_movements', 'stock_movements');
