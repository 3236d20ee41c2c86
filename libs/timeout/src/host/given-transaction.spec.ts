import { assertSound } from '../deadlines/sound-deadline';
import { Subjects } from './subjects';

const DUE = { kind: 'trial-end', subjectId: 'ann', dueAt: new Date() };

it.each([
  ['nothing', undefined],
  ['a transaction of Knex', { raw: async () => ({ rows: [] }) }],
  ['a client of node-postgres', { query: async () => ({ rows: [] }) }],
])('arming says how a transaction is given where it is %s', async (_, tx) => {
  const arming = new Subjects('lastcall').arm(tx as never, [DUE]);
  await expect(arming).rejects.toThrow(TypeError);
  await expect(new Subjects('lastcall').arm(tx as never, [DUE])).rejects.toThrow(
    'A transaction is given as fromTypeOrm(manager), fromPg(client), fromKnex(trx),',
  );
});

it('arming says what a deadline is where there is none', () => {
  expect(() => assertSound(undefined as never)).toThrow('A deadline has a kind');
});
