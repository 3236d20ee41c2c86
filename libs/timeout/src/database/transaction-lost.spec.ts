import { DataSource, type DataSourceOptions } from 'typeorm';
import { startTcpProxy, type TcpProxy } from '../../../../test/support/tcp-proxy';
import { CommitUnknownError } from './commit';
import { isContention, isInfrastructureError } from './database-errors';
import { isSubjectsFault } from '../draining/subject-failure';
import { DeadlineStore } from '../testing/deadline-store';
import { standStillUntilGone } from '../testing/stand-still';
import { inTransaction } from './in-transaction';
import { queryRows } from './query-rows';

describe('after a failover that left connections alive', () => {
  let store: DeadlineStore;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());

  /** What a connection to a former primary answers: its session cannot write any more. */
  const demoteAll = async (): Promise<void> => {
    const runners = Array.from({ length: 8 }, () => store.dataSource.createQueryRunner());
    // All at once, so that each gets a connection of its own.
    await Promise.all(
      runners.map((runner) => runner.query('SET default_transaction_read_only=on')),
    );
    await Promise.all(runners.map((runner) => runner.release()));
  };
  const write = (tag: string) =>
    inTransaction(store.dataSource, (tx) =>
      tx.rows(`INSERT INTO effects VALUES (gen_random_uuid(), $1) RETURNING by`, [tag]),
    );

  it('drops each connection that refuses to write, until writing works', async () => {
    await demoteAll();
    for (let refused = 0; refused < 8; refused++) {
      const error: unknown = await write('refused').catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ driverError: { code: '25006' } });
      expect(isInfrastructureError(error)).toBe(true);
    }
    expect(await write('kept')).toEqual([{ by: 'kept' }]);
  });

  it('does so outside transactions as well', async () => {
    await demoteAll();
    const once = (): Promise<unknown> =>
      queryRows(store.dataSource, `INSERT INTO effects VALUES (gen_random_uuid(), 'once')`);
    for (let refused = 0; refused < 8; refused++) {
      await expect(once()).rejects.toMatchObject({ driverError: { code: '25006' } });
    }
    await once();
  });
});

describe('a transaction that stands still for too long', () => {
  let store: DeadlineStore;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());

  /** Postgres ends it; resolves when nothing of it is left there. */
  async function ended(pid: number): Promise<void> {
    for (;;) {
      const alive = await store.rows('SELECT FROM pg_stat_activity WHERE pid = $1', [pid]);
      if (alive.length === 0) return;
    }
  }

  it.each(['at its next statement', 'at its commit'])(
    'is the database’s failure %s',
    async (when) => {
      const error: unknown = await inTransaction(store.dataSource, async (tx) => {
        const [row] = await tx.rows<{ pid: number }>('SELECT pg_backend_pid() AS pid');
        await tx.rows(`SET idle_in_transaction_session_timeout = '10ms'`);
        await ended((row as { pid: number }).pid);
        if (when === 'at its next statement') await tx.rows('SELECT 1');
      }).catch((thrown: unknown) => thrown);
      expect(isInfrastructureError(error)).toBe(true);
      expect(error).not.toBeInstanceOf(CommitUnknownError);
      // The pool is as good as before.
      expect(await store.rows('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    },
  );
});

describe('a connection that Postgres has ended, unheard', () => {
  let store: DeadlineStore;
  let one: DataSource;
  beforeAll(async () => {
    store = await DeadlineStore.open();
    one = await new DataSource({
      ...(store.dataSource.options as DataSourceOptions & { readonly type: 'postgres' }),
      poolSize: 1,
    }).initialize();
  });
  afterAll(async () => {
    await one?.destroy();
    await store?.close();
  });

  /** While this process stands still: nothing of it is read. */
  const endUnheard = (pid: number): void => standStillUntilGone(one, pid, 'end it');
  const PID = 'SELECT pg_backend_pid() AS pid';

  it('is nobody’s after the transaction that it broke', async () => {
    const broken = inTransaction(one, async (tx) => {
      const [row] = await tx.rows<{ pid: number }>(PID);
      endUnheard(row?.pid ?? 0);
      throw new Error('something else');
    });
    await expect(broken).rejects.toThrow('something else');
    expect(await inTransaction(one, (tx) => tx.rows('SELECT 1 AS one'))).toEqual([{ one: 1 }]);
  });

  it('is nobody’s after the statement that it refused', async () => {
    const [row] = await queryRows<{ pid: number }>(one, PID);
    endUnheard(row?.pid ?? 0);
    await expect(queryRows(one, 'SELECT 1 AS one')).rejects.toMatchObject({
      driverError: { code: '57P01' },
    });
    expect(await queryRows(one, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});

describe('a COMMIT without an answer', () => {
  let store: DeadlineStore;
  let proxy: TcpProxy;
  let proxied: DataSource;
  beforeAll(async () => {
    store = await DeadlineStore.open();
    const options = store.dataSource.options as DataSourceOptions & { readonly type: 'postgres' };
    proxy = await startTcpProxy(options.url ?? '');
    proxied = await new DataSource({ ...options, url: proxy.url }).initialize();
  });
  afterAll(async () => {
    await proxied?.destroy();
    await proxy?.close();
    await store?.close();
  });

  const insert = (by: string) =>
    inTransaction(proxied, (tx) =>
      tx.rows('INSERT INTO effects VALUES (gen_random_uuid(), $1)', [by]),
    ).catch((thrown: unknown) => thrown);

  it('is of an outcome that is not known, and the database’s failure', async () => {
    proxy.loseCommit(/INSERT INTO effects/);
    const error = await insert('done');
    expect(error).toBeInstanceOf(CommitUnknownError);
    expect([isInfrastructureError(error), isContention(error)]).toEqual([true, false]);
    expect(isSubjectsFault(error)).toBe(false);
    expect(await store.rows('SELECT by FROM effects')).toEqual([{ by: 'done' }]);
    // The pool is as good as before.
    expect(await insert('another')).toEqual([]);
  });

  it('is known to be undone where Postgres says so', async () => {
    await store.rows('ALTER TABLE effects ADD UNIQUE (by) DEFERRABLE INITIALLY DEFERRED');
    await insert('once');
    expect(await insert('once')).toMatchObject({ driverError: { code: '23505' } });
  });
});
