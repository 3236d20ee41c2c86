import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeFunction } from './change-function';

/**
 * `relay_cursor.stuck_at`: since when the history is known to be ahead of this cluster's transactions, as after a
 * dump and restore, until it is rewound. Once the cluster has caught up nothing else tells: what was written
 * meanwhile lies behind all who read the history by number.
 */
export class StuckUntilRewound1764100000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE relay_cursor ADD COLUMN stuck_at timestamptz(3)');
    for (const [before, after] of CHANGES) await changeFunction(runner, REWIND, before, after);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const [before, after] of CHANGES) await changeFunction(runner, REWIND, after, before);
    await runner.query('ALTER TABLE relay_cursor DROP COLUMN stuck_at');
  }
}

const REWIND = 'rewind_relay(timestamptz)';
// One that has caught up needs no more ahead than it has.
const CHANGES: readonly (readonly [before: string, after: string])[] = [
  ['was_stuck := newest >', 'was_stuck := relayed.stuck_at IS NOT NULL OR newest >'],
  [
    `UPDATE relay_cursor SET tx_ahead =
        newest + 2 - pg_snapshot_xmin(pg_current_snapshot())::text::bigint;`,
    `UPDATE relay_cursor SET stuck_at = NULL, tx_ahead = greatest(tx_ahead,
        newest + 2 - pg_snapshot_xmin(pg_current_snapshot())::text::bigint);`,
  ],
];
