import { DataSource } from 'typeorm';
import { until } from '../../../../test/support/until';
import { isInfrastructureError } from './database-errors';
import { DeadlineStore } from '../testing/deadline-store';
import { Gate } from '../testing/gate';
import { inTransaction } from './in-transaction';
import type { Transaction } from './transaction';

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
