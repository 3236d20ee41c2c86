import { migrate } from '@app/orders';
import { asMigrating, createTestDatabase } from '../../../test/support/database';
import { limitSessions } from '../../../test/support/limit-sessions';

it('takes as long as it takes, in a database whose sessions may last for a moment', async () => {
  const database = await createTestDatabase();
  try {
    await limitSessions(database.url, {
      transaction_timeout: '200ms',
      idle_session_timeout: '500ms',
    });
    await expect(migrate(asMigrating(database.url))).resolves.not.toEqual([]);
    expect(await migrate(asMigrating(database.url))).toEqual([]);
  } finally {
    await database.drop();
  }
});
