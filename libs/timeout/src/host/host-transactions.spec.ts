import { DeadlineStore } from '../testing/deadline-store';
import { inHostTransaction } from './host-transactions';

describe('inHostTransaction', () => {
  let store: DeadlineStore;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());

  it('ends where the work of a host never answers, once Postgres has ended its transaction', async () => {
    const silent = inHostTransaction(store.dataSource, 'public', async (tx) => {
      await tx.query(`INSERT INTO effects VALUES (gen_random_uuid(), 'test')`);
      await tx.query(`SET LOCAL idle_in_transaction_session_timeout = '110ms'`);
      await new Promise(() => undefined);
    });
    await expect(silent).rejects.toThrow(
      'The work of the host made no statement for so long that Postgres has ended the transaction',
    );
    expect(await store.rows('SELECT FROM effects')).toEqual([]);
  });
});
