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

  it('commits within what its session had, whatever the host has set there', async () => {
    await store.rows('CREATE TABLE limits (said text)');
    await store.rows(`CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN INSERT INTO limits VALUES (current_setting('statement_timeout')); RETURN NULL; END $$`);
    await store.rows(`CREATE CONSTRAINT TRIGGER note AFTER INSERT ON effects
      INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note()`);
    await inHostTransaction(store.dataSource, 'public', async (tx) => {
      await tx.query(`INSERT INTO effects VALUES (gen_random_uuid(), 'test')`);
      await tx.query(`SET statement_timeout = '1min'`);
    });
    expect(await store.rows('SELECT said FROM limits')).toEqual([{ said: '0' }]);
  });
});
