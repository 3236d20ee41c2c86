import { Client } from 'pg';
import { subject } from './testing/deadline-store';
import { type Bytes, Uuids } from './uuids';

const client = new Client({ connectionString: process.env.TEST_DATABASE_URL });
beforeAll(() => client.connect());
afterAll(() => client.end());

const ids = Array.from({ length: 3 }, (_, nth) => subject(nth));

async function ask<T>(sql: string, value: unknown): Promise<T> {
  const { rows } = await client.query<{ answer: T }>(`SELECT ${sql} AS answer`, [value]);
  return rows[0]?.answer as T;
}

describe('many UUIDs, as Postgres has them', () => {
  it('are the same as their list', async () => {
    const sent = Uuids.sent(await ask('array_send($1::uuid[])', ids));
    expect([sent.count, sent.each]).toEqual([3, ids]);
    expect(await ask('$1::uuid[]::text', sent.array)).toBe(`{${ids.join(',')}}`);
    expect(await ask('$1::uuid[]::text', Uuids.of(ids).array)).toBe(`{${ids.join(',')}}`);
  });

  it('have the same bytes, wherever they come from', async () => {
    const hexOf = ({ of, firstAt, stride } = {} as Bytes): string[] =>
      ids.map((_, nth) => of.toString('hex', firstAt + nth * stride, firstAt + nth * stride + 16));
    const hex = ids.map((id) => id.replaceAll('-', ''));
    const sent = Uuids.sent(await ask('array_send($1::uuid[])', ids));
    expect([hexOf(sent.bytes), hexOf(Uuids.of(ids).bytes)]).toEqual([hex, hex]);
  });

  it('may be none', async () => {
    const none = Uuids.sent(
      await ask('(SELECT array_send(array_agg(id)) FROM unnest($1::uuid[]) AS id)', []),
    );
    expect([none.count, none.each, none.array]).toEqual([0, [], '{}']);
    expect(await ask('cardinality($1::uuid[])', none.array)).toBe(0);
  });

  it('are refused by Postgres where they are none', async () => {
    const tea = Uuids.of(['tea']);
    expect(tea.bytes).toBeUndefined();
    // Also once somebody has asked for their bytes.
    await expect(ask('$1::uuid[]::text', tea.array)).rejects.toThrow(
      'invalid input syntax for type uuid',
    );
  });
});
