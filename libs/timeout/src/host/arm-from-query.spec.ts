import 'reflect-metadata';
import { Test } from '@nestjs/testing';
import { Client, Pool } from 'pg';
import { limitSessions } from '../../../../test/support/limit-sessions';
import { createMigratedDatabase } from '../../../../test/support/migrated-database';
import { armFromQuery } from './arm-from-query';
import { fromPg, getTimeoutsToken, TimeoutModule, type Timeouts } from '../public';

describe('armFromQuery', () => {
  let database: Awaited<ReturnType<typeof createMigratedDatabase>>;
  beforeAll(async () => (database = await createMigratedDatabase()));
  afterAll(() => database?.drop());

  it('reads instants of a database that writes them in its own way, and days in its order', async () => {
    const settings = '-c DateStyle=German,DMY -c TimeZone=UTC';
    const url = `${database.url}?options=${encodeURIComponent(settings)}`;
    const query = `SELECT 'lease-end', 'a', '05.12.2099'`;
    expect(await armFromQuery({ url, query, batch: 10 })).toMatchObject({ armed: 1 });
    const client = new Client({ connectionString: database.url });
    await client.connect();
    const { rows } = await client.query<{ dueAt: Date }>(
      `SELECT due_at AS "dueAt" FROM timeout_subjects WHERE kind = 'lease-end'`,
    );
    await client.end();
    expect(rows).toEqual([{ dueAt: new Date('2099-12-05T00:00:00Z') }]);
  });

  it('rests between pages for longer than a session, or a transaction, of the database may last', async () => {
    const limits = {
      ...{ idle_in_transaction_session_timeout: '200ms', idle_session_timeout: '200ms' },
      transaction_timeout: '700ms',
    };
    await limitSessions(database.url, limits);
    const query = `SELECT 'trial-end', i, now() + interval '1 day' FROM generate_series(1, 3) AS i`;
    const armed = await armFromQuery({ url: database.url, query, batch: 1, ratePerSecond: 2 });
    // Nobody hears of a session of a pool that such a limit ends, but Node.
    const lifted = Object.fromEntries(Object.keys(limits).map((limit) => [limit, '0']));
    await limitSessions(database.url, lifted);
    expect(armed).toMatchObject({ armed: 3, interrupted: false });
  });

  it('ends at once where it is told to while it rests', async () => {
    const stop = new AbortController();
    const query = `SELECT 'rest-end', i, now() + interval '1 day' FROM generate_series(1, 20) AS i`;
    const armed = await armFromQuery({
      ...{ url: database.url, query, batch: 10, ratePerSecond: 0.01, signal: stop.signal },
      // By then it rests, for longer than this test may take.
      onProgress: () => void setTimeout(() => stop.abort(), 100),
    });
    expect(armed).toMatchObject({ done: 10, interrupted: true });
  });

  it('goes on where it was stopped, whichever order the query has', async () => {
    const stop = new AbortController();
    const query = `SELECT 'stop-end', i, now() + interval '1 day' FROM generate_series(30, 11, -1) AS i`;
    const asked = { url: database.url, query, batch: 5 };
    const onProgress = () => stop.abort();
    const first = await armFromQuery({ ...asked, signal: stop.signal, onProgress });
    expect(first).toMatchObject({ armed: 5, interrupted: true });
    const rest = await armFromQuery({ ...asked, resume: first.cursor });
    expect(rest).toMatchObject({ armed: 15, interrupted: false });
  });

  it('does not rest behind the last page', async () => {
    const query = `SELECT 'last-end', i, now() + interval '1 day' FROM generate_series(1, 10) AS i`;
    // For longer than this test may take.
    const armed = await armFromQuery({ url: database.url, query, batch: 10, ratePerSecond: 0.01 });
    expect(armed).toMatchObject({ done: 10, interrupted: false });
  });

  it('is taken back by its kind, page by page, as the documentation does where that was misspelt', async () => {
    const query = `SELECT 'trail-end', i, now() + i * interval '1 day' FROM generate_series(-100, 150) AS i`;
    const armed = await armFromQuery({ url: database.url, query, batch: 1_000 });
    expect(armed).toMatchObject({ armed: 251, newKinds: ['trail-end'] });
    const pool = new Pool({ connectionString: database.url });
    const imports = [TimeoutModule.forRoot({ postgres: { pool }, role: 'arm' })];
    const module = await Test.createTestingModule({ imports }).compile();
    const timeouts = module.get<Timeouts>(getTimeoutsToken());
    for (let page; (page = await timeouts.list({ kind: 'trail-end' })).length > 0;) {
      await timeouts.cancel(fromPg(pool), page);
    }
    const left = `SELECT FROM deadlines d FULL JOIN timeout_subjects s USING (kind) WHERE kind = 'trail-end'`;
    expect((await pool.query(left)).rowCount).toBe(0);
    await module.close();
    await pool.end();
  });
});
