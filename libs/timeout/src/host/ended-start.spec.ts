import 'reflect-metadata';
import { Test } from '@nestjs/testing';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database';
import { startTcpProxy, type TcpProxy } from '../../../../test/support/tcp-proxy';
import { DeadlineHandler, migrateTimeouts, TimeoutModule } from '../public';

const END_OTHERS = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`;

@DeadlineHandler('trial-end')
class EndTrials {
  handle = async (): Promise<{ changed: number }> => ({ changed: 0 });
}

describe('Postgres, which ends sessions of a start, as a failover does', () => {
  let database: TestDatabase;
  let postgres: TcpProxy;
  let warned: jest.SpyInstance;
  beforeEach(async () => {
    database = await createTestDatabase();
    postgres = await startTcpProxy(database.url);
    warned = jest.spyOn(process, 'emitWarning').mockReturnValue();
  });
  afterEach(async () => {
    warned.mockRestore();
    await postgres.close();
    await database.drop();
  });

  it('is waited for by a step of the deployment, which names all that it has run', async () => {
    postgres.loseCommit(/CREATE TABLE workers/);
    expect(await migrateTimeouts({ postgres: { url: postgres.url } })).toEqual(
      expect.arrayContaining(['Deadlines1763600000000', 'SweepShards1763930020000']),
    );
    expect(warned).toHaveBeenCalledWith(expect.stringContaining('Waiting for Postgres'));
  });

  it('is waited for by TimeoutModule, which starts once it ends no more of them', async () => {
    const operator = new Client({ connectionString: database.url });
    await operator.connect();
    let isOver = false;
    const isWaitedFor = () => warned.mock.calls.length > 0;
    const ending = (async () => {
      // One that stands idle is missed by nobody.
      for (let ended = 0; (ended < 8 || !isWaitedFor()) && !isOver;) {
        ended += (await operator.query(END_OTHERS)).rowCount ?? 0;
      }
    })();
    const start = async () => {
      const module = await Test.createTestingModule({
        imports: [TimeoutModule.forRoot({ postgres: { url: postgres.url }, driver: 'memory' })],
        providers: [EndTrials],
      }).compile();
      return module.init();
    };
    try {
      do await (await start()).close();
      while (!isWaitedFor());
    } finally {
      isOver = true;
      await ending;
      await operator.end();
    }
    expect(warned).toHaveBeenCalledWith(expect.stringContaining('Waiting for Postgres'));
  });
});
