import { inTransaction, PAST_AUTOVACUUM_MS } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { type Accountable, recordAction } from '../order/operator-action';
import { uuidv7 } from '../order/uuid';

export interface Rewound {
  /** Everything written since then is sent again. */
  readonly sentFrom: Date;
  /** How many events that is. */
  readonly events: number;
  /** The history was ahead of the database's transactions, and is so no more. */
  readonly wasStuck: boolean;
}

/** It may read the whole history once, which takes longer than a customer would wait. */
const STATEMENT_LIMIT_MS = 600_000;

/**
 * Has the relay send events again, for a stream that was lost; after a dump and restore, or a move to
 * another cluster, it also makes the relay see new events at all (docs/adr/0006). Consumers get
 * events twice, as they may at any time, and each order's in their order.
 */
@Injectable()
export class RewindEvents {
  constructor(@Inject(DATABASE) private readonly dataSource: DataSource) {}

  /** Without `to`: from five minutes before the relay has last sent something. */
  async rewind({ to, ...accountable }: Accountable & { readonly to?: Date }): Promise<Rewound> {
    return inTransaction(this.dataSource, async (tx) => {
      await tx.limit(STATEMENT_LIMIT_MS);
      // It locks tables that were just restored, and are being vacuumed therefore.
      await tx.rows(`SELECT set_config('lock_timeout', (${PAST_AUTOVACUUM_MS})::text, true)`);
      const [row] = await tx.rows<{ sent_from: Date; was_stuck: boolean; events: string }>(
        'SELECT * FROM rewind_relay($1)',
        [to ?? null],
      );
      const { sent_from: sentFrom, was_stuck: wasStuck, events } = row as NonNullable<typeof row>;
      await recordAction(tx, 'events.rewind', 'relay', [uuidv7()], accountable);
      return { sentFrom, events: Number(events), wasStuck };
    });
  }
}
