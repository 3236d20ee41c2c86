import { asOneStatement, endsTransaction } from './lent-transaction';

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
    '/* /* of */ others **/COMMIT',
    '-- done\rCOMMIT',
    ';; COMMIT',
    "PREPARE /* it */ TRANSACTION 'x'",
    'ROLLBACK; SELECT 1',
  ])('is true for %j', (sql) => expect(endsTransaction(sql)).toBe(true));

  it.each([
    'ROLLBACK TO mine',
    'ROLLBACK TO SAVEPOINT mine',
    'rollback work to savepoint mine',
    'ROLLBACK /* only */ TO mine',
    'PREPARE mine AS SELECT 1',
    'SAVEPOINT commit',
    'RELEASE SAVEPOINT mine',
    'ENDS',
    'COMMITS',
    'SELECT 1 -- COMMIT',
    '-- COMMIT',
    '/* COMMIT */ SELECT 1',
    '/* /* a */ COMMIT',
    '',
    "'COMMIT'",
    `${'/* a */ '.repeat(10_000)}SELECT 1`,
    `${'/*'.repeat(100_000)}${'*/'.repeat(100_000)}SELECT 1`,
    `${' \n;--'.repeat(100_000)}`,
  ])('is false for %.40j', (sql) => expect(endsTransaction(sql)).toBe(false));
});

describe('asOneStatement', () => {
  const alone = { queryMode: 'extended' };

  it.each([
    'SELECT 1; COMMIT',
    'SELECT 1;\n\nrollback',
    "SELECT '; COMMIT'",
    'SELECT 1; SELECT 2; END',
  ])('is for %j', (sql) => expect(asOneStatement(sql)).toEqual(alone));

  it.each([
    'SELECT 1',
    'SELECT 1;',
    'SELECT 1; SELECT 2',
    'COMMIT',
    'CASE WHEN a THEN b END;',
    'SELECT 1; ENDS',
  ])('is not for %j', (sql) => expect(asOneStatement(sql)).toEqual({}));

  it('reads a text of two hundred thousand statements once', () => {
    expect(asOneStatement('SELECT 1; '.repeat(200_000))).toEqual({});
  });
});
