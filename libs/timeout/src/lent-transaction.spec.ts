import { endsTransaction } from './lent-transaction';

describe('endsTransaction', () => {
  it.each([
    'COMMIT',
    ' commit;',
    'END TRANSACTION',
    'ABORT',
    'ROLLBACK',
    'rollback work',
    'ROLLBACK AND CHAIN',
    "PREPARE TRANSACTION 'x'",
    '-- done\nCOMMIT',
    '/* of * ours */ -- two\n /**/ COMMIT',
  ])('is true for %j', (sql) => expect(endsTransaction(sql)).toBe(true));

  it.each([
    'ROLLBACK TO mine',
    'ROLLBACK TO SAVEPOINT mine',
    'rollback work to savepoint mine',
    'SAVEPOINT commit',
    'RELEASE SAVEPOINT mine',
    'ENDS',
    'COMMITS',
    'SELECT 1 -- COMMIT',
    '-- COMMIT',
    '/* COMMIT */ SELECT 1',
    `${'/* a */ '.repeat(10_000)}SELECT 1`,
  ])('is false for %.40j', (sql) => expect(endsTransaction(sql)).toBe(false));
});
