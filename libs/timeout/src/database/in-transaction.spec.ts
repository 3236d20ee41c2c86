import { DataSource, type DataSourceOptions } from 'typeorm';
import { inTransaction, type InTransactionOptions } from './in-transaction';
import { startUpOptions, UNDERSTOOD } from './session-settings';
import { DeadlineStore } from '../testing/deadline-store';
import type { Transaction } from './transaction';

/** Of locks, in milliseconds. */
const LIMIT = `SELECT setting::int AS ms FROM pg_settings WHERE name = 'lock_timeout'`;

describe('who waits for what somebody has locked', () => {
  let store: DeadlineStore;
  beforeAll(async () => {
    store = await DeadlineStore.open();
    await store.rows('INSERT INTO effects VALUES (gen_random_uuid(), $1)', ['somebody']);
  });
  afterAll(() => store?.close());

  async function within(
    lockTimeoutMs: number,
    work: (dataSource: DataSource) => Promise<void>,
  ): Promise<void> {
    const options = `${startUpOptions(UNDERSTOOD)} -c lock_timeout=${lockTimeoutMs}`;
    const extra = { pipeline: true, options };
    const dataSource = await new DataSource({ ...store.dataSource.options, extra }).initialize();
    await work(dataSource).finally(() => dataSource.destroy());
  }

  /** How often a row that somebody holds was asked for. */
  async function countAttempts(options?: InTransactionOptions): Promise<number> {
    let attempts = 0;
    await within(20, (dataSource) =>
      inTransaction(store.dataSource, async (holder) => {
        await holder.rows('SELECT FROM effects FOR UPDATE');
        const asking = inTransaction(
          dataSource,
          async (tx) => {
            attempts += 1;
            await tx.rows('SELECT FROM effects FOR UPDATE');
          },
          options,
        );
        await expect(asking).rejects.toMatchObject({ driverError: { code: '55P03' } });
      }),
    );
    return attempts;
  }

  /** In milliseconds, in a session that waits so long by itself. */
  async function limitOf(sessionMs: number, options?: InTransactionOptions): Promise<number> {
    let limitMs = NaN;
    await within(sessionMs, (dataSource) =>
      inTransaction(
        dataSource,
        async (tx) => {
          const [row] = await tx.rows<{ ms: number }>(LIMIT);
          limitMs = row?.ms ?? NaN;
        },
        options,
      ),
    );
    return limitMs;
  }

  const ago = (ms: number): InTransactionOptions => ({ sinceMs: performance.now() - ms });

  /** No patience is lost by what a busy machine takes its time for. */
  beforeEach(() => void jest.spyOn(performance, 'now').mockReturnValue(performance.now()));
  afterEach(() => jest.restoreAllMocks());

  it('asks for it several times, and once where no patience is left', async () => {
    expect(await countAttempts()).toBe(5);
    expect(await countAttempts(ago(2_600))).toBe(1);
    expect(await countAttempts({ patienceMs: 200 })).toBe(1);
  });

  it('waits no longer than until three seconds have passed, nor than its session does', async () => {
    expect(await limitOf(1_000)).toBe(1_000);
    const limitMs = await limitOf(1_000, ago(2_100));
    expect(limitMs).toBeGreaterThanOrEqual(250);
    expect(limitMs).toBeLessThanOrEqual(600);
    expect(await limitOf(1_000, ago(10_000))).toBe(250);
    expect(await limitOf(100, ago(2_100))).toBe(100);
    expect(await limitOf(0, ago(2_100))).toBe(0);
  });

  it('tries once more, without any patience left, where it was only the loser of others', async () => {
    let attempts = 0;
    const losing = inTransaction(
      store.dataSource,
      async (tx) => {
        attempts += 1;
        await tx.rows(`DO $$ BEGIN RAISE EXCEPTION 'lost' USING ERRCODE = '40P01'; END $$`);
      },
      ago(10_000),
    );
    await expect(losing).rejects.toMatchObject({ driverError: { code: '40P01' } });
    expect(attempts).toBe(2);
  });

  it('counts what it has waited for a connection', async () => {
    const extra = {
      ...{ max: 1, pipeline: true },
      options: `${startUpOptions(UNDERSTOOD)} -c lock_timeout=1000`,
    };
    const options = { ...store.dataSource.options, poolSize: 1, extra };
    const only = await new DataSource(options as DataSourceOptions).initialize();
    try {
      const ask = (tx: Transaction) => tx.rows<{ ms: number }>(LIMIT);
      const second = await inTransaction(only, (tx) => {
        const asked = inTransaction(only, ask);
        jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 2_100);
        return tx.rows('SELECT').then(() => ({ asked }));
      });
      const [row] = await second.asked;
      expect(row?.ms).toBeLessThanOrEqual(600);
    } finally {
      await only.destroy();
    }
  });

  it('waits by its session again in the next transaction', async () => {
    await within(1_000, async (dataSource) => {
      const ask = (options?: InTransactionOptions) =>
        inTransaction(dataSource, (tx) => tx.rows('SHOW lock_timeout'), options);
      expect(await ask(ago(10_000))).toEqual([{ lock_timeout: '250ms' }]);
      expect(await ask()).toEqual([{ lock_timeout: '1s' }]);
    });
  });
});
