import { connectWithin, createDataSource } from '@app/orders/look';
import { createTestDatabase } from '../../../test/support/database';
import { effectiveSettings } from './effective-settings';

describe('effectiveSettings', () => {
  it('gives a busy Postgres longer to let a command in than a request', async () => {
    const ofRequests = 2_000;
    connectWithin(ofRequests);
    const database = await createTestDatabase();
    try {
      const env = { DATABASE_URL: database.appUrl };
      await effectiveSettings('look', env, () => undefined);
      const { options } = createDataSource({ DATABASE_URL: database.appUrl }, 'later');
      expect(options).toMatchObject({ connectTimeoutMS: 10_000 });
    } finally {
      await database.drop();
    }
  });
});
