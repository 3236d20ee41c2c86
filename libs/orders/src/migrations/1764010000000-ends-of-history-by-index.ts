import type { MigrationInterface, QueryRunner } from 'typeorm';
import { changeFunction } from './change-function';

/**
 * The ends of the history are looked up in their indexes: `min(xid8)` and `max(xid8)` came with
 * Postgres 15, and without them no invariant, no gauge of the relay and no restored dump was read.
 */
export class EndsOfHistoryByIndex1764010000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const { signature, before, after } of CHANGES) {
      await changeFunction(runner, signature, before, after);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const { signature, before, after } of [...CHANGES].reverse()) {
      await changeFunction(runner, signature, after, before);
    }
  }
}

const REACHES = 'history_reaches()';
const REWIND = 'rewind_relay(timestamptz)';

const CHANGES = [
  {
    signature: REACHES,
    before: '(SELECT max(from_tx) FROM webhook_endpoints)',
    after: '(SELECT from_tx FROM webhook_endpoints ORDER BY from_tx DESC LIMIT 1)',
  },
  ...['order_events', 'operator_actions'].map((table) => ({
    signature: REACHES,
    before: `(SELECT max(tx) FROM ${table})`,
    after: `(SELECT tx FROM ${table} ORDER BY tx DESC LIMIT 1)`,
  })),
  {
    signature: REWIND,
    before: `SELECT min(tx) INTO first_kept FROM order_events
       WHERE at >= sent_from AND id <= sealed_events;`,
    after: `SELECT tx INTO first_kept FROM order_events
       WHERE at >= sent_from AND id <= sealed_events ORDER BY tx LIMIT 1;`,
  },
  {
    signature: REWIND,
    before: 'SELECT min(tx) INTO first_tx FROM order_events WHERE at >= sent_from;',
    after: `SELECT tx INTO first_tx FROM order_events
       WHERE at >= sent_from ORDER BY tx LIMIT 1;`,
  },
];
