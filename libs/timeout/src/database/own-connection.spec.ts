import { DataSource } from 'typeorm';
import { createTestDatabase } from '../../../../test/support/database';
import { until } from '../../../../test/support/until';
import { sqlStateOf } from './database-errors';
import { openSessions } from './pooler';
import { queryRows } from './query-rows';
import { isSubjectsFault } from '../draining/subject-failure';

const GONE = '3D000';

it('What Postgres says as it refuses a connection of ours is no fault of a subject', async () => {
  const database = await createTestDatabase();
  const dataSource = await openSessions(new DataSource({ type: 'postgres', url: database.url }));
  await database.drop();
  let refused: unknown;
  // Before, who is connected still hears of its end.
  await until('it opens another one', async () => {
    refused = await queryRows(dataSource, 'SELECT 1').catch((error: unknown) => error);
    return sqlStateOf(refused) === GONE;
  });
  expect(isSubjectsFault(refused)).toBe(false);
  // As a server says of a tenant's database.
  expect(isSubjectsFault(Object.assign(new Error('gone'), { code: GONE }))).toBe(true);
  await dataSource.destroy();
});
