import { DataSource, type DataSourceOptions } from 'typeorm';
import { startTcpProxy, type TcpProxy } from '../../../test/support/tcp-proxy';
import { until } from '../../../test/support/until';
import { CommitUnknownError } from './commit';
import { isContention, isInfrastructureError } from './database-errors';
import { isSubjectsFault } from './subject-failure';
import { DeadlineStore } from './testing/deadline-store';
import { Gate } from './testing/gate';
import { standStillUntilGone } from './testing/stand-still';
import { inTransaction } from './in-transaction';
import { queryRows } from './query-rows';
import type { Transaction } from './transaction';

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

describe('an attempt in a transaction', () => {
  let store: DeadlineStore;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());
  beforeEach(() => store.empty());

  const INSERT = 'INSERT INTO effects VALUES (gen_random_uuid(), $1)';
  const kept = async () =>
    (await store.rows<{ by: string }>('SELECT by FROM effects ORDER BY by')).map(({ by }) => by);
  /** Writes, and fails: in SQL, so that Postgres refuses all that follows, or by itself. */
  const fails = (tx: Transaction, name: string, how = 'SELECT 1 / 0') =>
    tx
      .attempt(async (part) => {
        await part.hot(INSERT, [name]);
        await part.rows(how);
        throw new Error('poison');
      })
      .catch(() => undefined);
  const succeeds = (tx: Transaction, name: string) =>
    tx.attempt((part) => part.hot(INSERT, [name]));

  it('undoes what failed, and nothing else', async () => {
    await inTransaction(store.dataSource, async (tx) => {
      await tx.rows(INSERT, ['a']);
      await fails(tx, 'no');
      await fails(tx, 'no', 'SELECT 1');
      await succeeds(tx, 'b');
      await fails(tx, 'no');
      await tx.rows(INSERT, ['c']);
      await fails(tx, 'no');
      await Promise.all([tx.rows(INSERT, ['d']), tx.rows(INSERT, ['e'])]);
      await tx.attempt((part) => Promise.all([part.rows(INSERT, ['f']), part.rows(INSERT, ['g'])]));
      await fails(tx, 'no', 'SELECT 1');
    });
    expect(await kept()).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g']);
  });

  it('has work set aside within it, of which only that is undone', async () => {
    const hooks: string[] = [];
    await inTransaction(store.dataSource, async (tx) => {
      await tx.attempt(async (part) => {
        await part.rows(INSERT, ['a']);
        const failing = part.aside(async (aside) => {
          aside.afterCommit(() => hooks.push('no'));
          await aside.manager.query(INSERT, ['no']);
          await aside.rows('SELECT 1 / 0').catch(() => undefined);
        });
        await expect(failing).rejects.toThrow('current transaction is aborted');
        await part.aside((aside) => aside.rows(INSERT, ['b']));
      });
      await fails(tx, 'no');
      tx.afterCommit(() => hooks.push('yes'));
    });
    expect(await kept()).toEqual(['a', 'b']);
    expect(hooks).toEqual(['yes']);
  });

  it('is undone before TypeORM goes on, and where it was all there was', async () => {
    await inTransaction(store.dataSource, async (tx) => {
      const { manager } = tx;
      await fails(tx, 'no');
      await manager.query(INSERT, ['typeorm']);
    });
    await inTransaction(store.dataSource, (tx) => fails(tx, 'no'));
    expect(await kept()).toEqual(['typeorm']);
  });

  const writing = {
    rows: (tx: Transaction) => tx.rows(INSERT, ['late']),
    manager: (tx: Transaction) => tx.manager.query(INSERT, ['late']),
  };
  const ways = Object.keys(writing) as (keyof typeof writing)[];

  it.each(ways)('has nothing done that is sent after its end (%s)', async (by) => {
    const gate = new Gate();
    let late: Promise<unknown> | undefined;
    const bad = inTransaction(store.dataSource, async (tx) => {
      late = gate.pass().then(() => writing[by](tx));
      await tx.rows('SELECT 1');
      throw new Error('bad');
    });
    await expect(bad).rejects.toThrow('bad');
    gate.open();
    await expect(late).rejects.toThrow();
    expect(await kept()).toEqual([]);
  });

  it.each(ways)('undoes what siblings of its failure still send (%s)', async (by) => {
    for (const how of ['attempt', 'aside'] as const) {
      const gate = new Gate();
      let late: Promise<unknown> | undefined;
      await inTransaction(store.dataSource, async (tx) => {
        const bad = tx[how](async (part) => {
          await part.rows(INSERT, ['undone']);
          late = gate.pass().then(() => writing[by](part));
          // Under way as it fails.
          const sent = writing[by](part);
          await Promise.all([late, sent, Promise.reject(new Error('bad'))]);
        });
        await expect(bad).rejects.toThrow('bad');
        await tx.attempt(async (part) => {
          await part.rows(INSERT, [how]);
          gate.open();
          await expect(late).rejects.toThrow('has ended');
        });
      });
    }
    expect(await kept()).toEqual(['aside', 'attempt']);
  });

  /** Once its client has been told. */
  const end = async (pid: number) => {
    await store.rows('SELECT pg_terminate_backend($1)', [pid]);
    await until('the session has ended', async () => {
      const sessions = await store.rows('SELECT FROM pg_stat_activity WHERE pid = $1', [pid]);
      return sessions.length === 0;
    });
  };

  it('tells of the statement that failed, also where the connection is lost', async () => {
    const lost = inTransaction(store.dataSource, async (tx) => {
      const [row] = await tx.rows<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await fails(tx, 'no');
      await end((row as { pid: number }).pid);
      await succeeds(tx, 'b');
    }).catch((thrown: unknown) => thrown);
    expect(isInfrastructureError(await lost)).toBe(true);
    expect(await kept()).toEqual([]);
  });
});

describe('a statement that takes its time', () => {
  let store: DeadlineStore;
  let hasty: DataSource;
  beforeAll(async () => {
    store = await DeadlineStore.open();
    const options = { ...store.dataSource.options, extra: { query_timeout: 1_000 } };
    hasty = await new DataSource(options).initialize();
  });
  afterAll(async () => {
    await hasty?.destroy();
    await store?.close();
  });
  const sleep = (limitMs?: number): Promise<unknown> =>
    inTransaction(hasty, async (tx) => {
      if (limitMs !== undefined) await tx.limit(limitMs);
      return tx.rows(`SELECT 'slept' AS has FROM pg_sleep(1.5)`);
    });

  it('is waited for as long as its transaction says, by Postgres and by its client', async () => {
    await expect(sleep()).rejects.toThrow('Query read timeout');
    expect(await sleep(60_000)).toEqual([{ has: 'slept' }]);
    await expect(sleep(500)).rejects.toMatchObject({ driverError: { code: '57014' } });
  });
});

describe('what follows a commit', () => {
  let store: DeadlineStore;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());

  it('changes nothing of it, whatever fails there, and keeps no other hook from running', async () => {
    const told: unknown[] = [];
    const ran: string[] = [];
    const failed = (error: unknown): void => void told.push(error);
    const result = await inTransaction(store.dataSource, async (tx) => {
      tx.afterCommit(() => {
        throw new Error('statsd is away');
      }, failed);
      tx.afterCommit(() => Promise.reject(new Error('mail is away')), failed);
      tx.afterCommit(() => void ran.push('last'), failed);
      return tx.rows(`INSERT INTO effects VALUES (gen_random_uuid(), 'kept') RETURNING by`);
    });
    expect(result).toEqual([{ by: 'kept' }]);
    expect(ran).toEqual(['last']);
    await until('both are told of', () => told.length === 2);
    expect(told.map(String).sort()).toEqual(['Error: mail is away', 'Error: statsd is away']);
  });

  it('is told of by a warning of the process, where nobody else is named', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockReturnValue();
    await inTransaction(store.dataSource, (tx) => {
      tx.afterCommit(() => Promise.reject(new Error('mail is away')));
      return Promise.resolve();
    });
    const told = await until('it is told of', () => warn.mock.calls[0]);
    warn.mockRestore();
    expect(String(told[0])).toContain('mail is away');
  });
});
