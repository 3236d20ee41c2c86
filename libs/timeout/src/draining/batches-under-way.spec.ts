import { DataSource } from 'typeorm';
import { enterBatch } from './batch-entry';
import { batchesUnderWay, kindsUnderWay } from './batches-under-way';
import { startUpOptions, UNDERSTOOD } from '../database/session-settings';
import { DeadlineStore } from '../testing/deadline-store';
import { inTransaction } from '../database/in-transaction';

const KIND = 'payment';

describe('batches under way', () => {
  let store: DeadlineStore;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());

  /** Of one that stands still between two statements: as asked so much later, by a session that may so long. */
  async function asked(laterMs: number, mayMs: number): Promise<unknown> {
    // Found before Postgres' own. By when it began to stand still: whoever asks takes as long as a busy machine does.
    await store.rows(`CREATE OR REPLACE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql
      AS $$ SELECT state_change + interval '${laterMs} ms' FROM pg_stat_activity
             WHERE datname = current_database() AND state = 'idle in transaction' $$`);
    const options = `${startUpOptions(UNDERSTOOD)} -c search_path=public,pg_catalog -c idle_in_transaction_session_timeout=${mayMs}`;
    const asking = await new DataSource({
      ...store.dataSource.options,
      extra: { options },
    }).initialize();
    try {
      return await inTransaction(store.dataSource, async (tx) => {
        await enterBatch(tx, KIND, 1, []);
        expect(await kindsUnderWay(asking, [KIND, 'refund'])).toEqual([KIND]);
        return batchesUnderWay(asking, KIND);
      });
    } finally {
      await asking.destroy();
    }
  }

  it('go on between two statements for as long as a session may', async () => {
    expect(await asked(10_000, 10_000)).toEqual({ goingOn: 1, hanging: 0 });
    expect(await asked(3_600_000, 0)).toEqual({ goingOn: 1, hanging: 0 });
  });

  it('hang after that, as nobody has ended them', async () => {
    expect(await asked(11_500, 10_000)).toEqual({ goingOn: 0, hanging: 1 });
  });

  it('are none where nobody has a turn', async () => {
    expect(await batchesUnderWay(store.dataSource, KIND)).toEqual({ goingOn: 0, hanging: 0 });
  });
});
