import { EventEmitter, once } from 'node:events';
import { Client } from 'pg';
import { pause } from '../../libs/timeout/src/pause';
import { Stage } from './stage';

describe('Stage', () => {
  let stage: Stage;
  let client: Client;
  beforeAll(async () => (stage = await Stage.open()));
  beforeEach(async () => {
    client = new Client({ connectionString: stage.url, application_name: 'lastcall left' });
    await client.connect();
  });
  afterEach(() => client.end());
  afterAll(() => stage?.close());

  it('leaves nobody behind in the midst of a transaction, who waits for nothing but time', async () => {
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
  });

  it('lets nobody begin a transaction who was killed while waiting for a connection', async () => {
    const { scheduler } = stage;
    const pool = new EventEmitter();
    const begun: string[] = [];
    const waits = async (): Promise<void> => {
      await once(pool, 'connection');
      await client.query('BEGIN');
      begun.push('waits');
    };
    const kills = async (): Promise<void> => {
      scheduler.kill(0);
      pool.emit('connection');
    };
    await scheduler.run(
      [
        { actor: { name: 'waits', process: 0 }, act: waits },
        { actor: { name: 'crash', process: 1 }, act: kills },
      ],
      [],
    );
    await stage.comeToRest();
    expect(begun).toEqual([]);
  });
});
