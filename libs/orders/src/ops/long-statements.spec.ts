import { DataSource, type DataSourceOptions } from 'typeorm';
import { openWorld, type World } from '../../../../test/support/world';
import { RewindEvents } from './rewind-events';
import { VerifyDeadlines } from './verify-deadlines';

/** An answer is waited for so long, where 16 s are ordinary; */
const ANSWER_LIMIT_MS = 1_000;
/** and a history of millions takes so long to be read. */
const TAKES = 'pg_sleep(1.5)';

describe('What reads a whole installation, longer than answers are waited for,', () => {
  let world: World;
  let dataSource: DataSource;
  beforeAll(async () => {
    world = await openWorld();
    const options = world.dataSource.options as DataSourceOptions & { readonly extra: object };
    const extra = { ...options.extra, query_timeout: ANSWER_LIMIT_MS };
    dataSource = await new DataSource({ ...options, extra }).initialize();
  });
  afterAll(async () => {
    await dataSource?.destroy();
    await world?.close();
  });

  it('verifies deadlines', async () => {
    await world.owner.rows(
      `ALTER TABLE held_deadlines RENAME TO held;
       CREATE VIEW held_deadlines AS SELECT * FROM held WHERE (SELECT ${TAKES}) IS NOT NULL;
       GRANT SELECT ON held_deadlines TO PUBLIC`,
    );
    expect(await new VerifyDeadlines(dataSource).run()).toMatchObject({ missing: { count: 0 } });
  });

  it('rewinds events', async () => {
    await world.owner.rows(
      `ALTER FUNCTION rewind_relay RENAME TO rewind_at_once;
       CREATE FUNCTION rewind_relay(since timestamptz, OUT sent_from timestamptz, OUT was_stuck boolean, OUT events bigint)
       LANGUAGE sql AS $$ SELECT r.* FROM ${TAKES}, rewind_at_once(since) AS r $$`,
    );
    const rewound = await new RewindEvents(dataSource).rewind({ actor: 'olga', reason: 'case 9' });
    expect(rewound).toMatchObject({ events: 0 });
  });
});
