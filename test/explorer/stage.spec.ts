import { Client } from 'pg';
import { pause } from '../../libs/timeout/src/pause';
import { Stage } from './stage';

describe('Stage', () => {
  it('leaves nobody behind in the midst of a transaction, who waits for nothing but time', async () => {
    const stage = await Stage.open();
    const client = new Client({ connectionString: stage.url, application_name: 'lastcall left' });
    await client.connect();
    const turn = async (): Promise<unknown> =>
      (await stage.monitor.query('SELECT pg_try_advisory_lock(1) AS is_free')).rows[0];
    const act = async (): Promise<void> => {
      await client.query('BEGIN');
      await client.query('SELECT pg_advisory_xact_lock(1)');
      void pause(20).then(() => client.query('COMMIT'));
    };
    await stage.scheduler.run([{ actor: { name: 'rings', process: 0 }, act }], []);
    expect(await turn()).toEqual({ is_free: false });
    await stage.comeToRest();
    expect(await turn()).toEqual({ is_free: true });
    await client.end();
    await stage.close();
  });
});
