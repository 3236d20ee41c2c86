import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { startPostgres } from '../../../../scripts/services/index.mjs';
import { until } from '../../../../test/support/until';
import { CommitUnknownError } from './commit';
import { isInfrastructureError } from './database-errors';
import { inTransaction } from './in-transaction';

describe('a COMMIT whose wait for a standby somebody cancels', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lastcall-standby-'));
  let server: Awaited<ReturnType<typeof startPostgres>>;
  let dataSource: DataSource;
  let dba: DataSource;
  beforeAll(async () => {
    // Root's servers run as somebody else.
    chmodSync(folder, 0o711);
    server = await startPostgres({
      dataDir: join(folder, 'data'),
      logFile: join(folder, 'postgres.log'),
      password: 'secret',
      durable: false,
      settings: { max_wal_senders: '2', wal_level: 'replica' },
    });
    const open = (options: string) =>
      new DataSource({ type: 'postgres', url: server.url, extra: { options } }).initialize();
    dba = await open('-c synchronous_commit=local');
    await dba.query('CREATE TABLE effects (by text)');
    await dba.query(`ALTER SYSTEM SET synchronous_standby_names = 'nobody'`);
    await dba.query('SELECT pg_reload_conf()');
    dataSource = await open('-c synchronous_commit=on');
    await untilCommitsWait();
  }, 60_000);
  afterAll(async () => {
    await dataSource?.destroy();
    await dba?.destroy();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const insert = (by: string): Promise<unknown> =>
    inTransaction(dataSource, (tx) => tx.rows('INSERT INTO effects VALUES ($1)', [by])).catch(
      (thrown: unknown) => thrown,
    );
  const whoWaits = async (): Promise<number | undefined> => {
    const [row] = await dba.query<{ pid: number }[]>(
      `SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'`,
    );
    return row?.pid;
  };
  const waiting = () => until('it waits for a standby', whoWaits);
  /** Not before Postgres' checkpointer has heard of the standby, which nobody waits for. */
  async function untilCommitsWait(): Promise<void> {
    for (let pid: number | undefined; pid === undefined;) {
      let isOver = false;
      const inserting = insert('too early').finally(() => (isOver = true));
      await until('it waits, or does not', async () => isOver || (pid = await whoWaits()));
      if (pid !== undefined) await dba.query('SELECT pg_cancel_backend($1)', [pid]);
      await inserting;
    }
    await dba.query('TRUNCATE effects');
  }

  it('is of an outcome that is not known: what only this server has may be lost with it', async () => {
    const inserting = insert('one');
    await dba.query('SELECT pg_cancel_backend($1)', [await waiting()]);
    const error = await inserting;
    expect(error).toBeInstanceOf(CommitUnknownError);
    expect(isInfrastructureError(error)).toBe(true);
    expect(await dba.query('SELECT by FROM effects')).toEqual([{ by: 'one' }]);
  });

  it('says nothing of the next one of its connection', async () => {
    const inserting = insert('two');
    await waiting();
    await dba.query(`ALTER SYSTEM SET synchronous_standby_names = ''`);
    await dba.query('SELECT pg_reload_conf()');
    expect(await inserting).toEqual([]);
    expect(await insert('three')).toEqual([]);
  });
});
