import { once } from 'node:events';
import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { createTestDatabase, onServer, type TestDatabase } from '../../../../test/support/database';
import { startTcpProxy, type TcpProxy } from '../../../../test/support/tcp-proxy';
import { NODE_POSTGRES } from './node-postgres';
import { onceBack } from './once-back';
import { onceFree } from './once-free';
import { openSessions } from './pooler';
import { queryRows } from './query-rows';

const coded = (code: string): Error => Object.assign(new Error(code), { code });

afterEach(() => jest.restoreAllMocks());

const REFUSALS = [
  '28P01',
  '3D000',
  'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
  'CERT_HAS_EXPIRED',
];

it.each([...REFUSALS, '57014'])(
  'ends at once by what does not pass by itself, whatever broke before: %s',
  async (code) => {
    jest.spyOn(process, 'emitWarning').mockReturnValue();
    const refusal = coded(code);
    const errors = [coded('ECONNRESET'), refusal];
    const attempt = () => Promise.reject(errors.shift() ?? new Error('asked once more'));
    await expect(onceBack(attempt)).rejects.toBe(refusal);
  },
);

it('says what each address of a name answers that has several', async () => {
  const warned = jest.spyOn(process, 'emitWarning').mockReturnValue();
  const each = ['::1', '127.0.0.1'].map((ip) => new Error(`connect ECONNREFUSED ${ip}:5432`));
  // As Node says it.
  const away = Object.assign(new AggregateError(each), { code: 'ECONNREFUSED' });
  const errors = [away];
  const attempt = async (): Promise<void> => {
    const error = errors.shift();
    if (error) throw error;
  };
  await onceBack(attempt, { wasThere: true });
  expect(String(warned.mock.calls.at(-1)?.[0])).toContain(
    ': connect ECONNREFUSED ::1:5432; connect ECONNREFUSED 127.0.0.1:5432',
  );
});

it('waits no longer once the process is to end, which Nest does only when its start is over', async () => {
  jest.spyOn(process, 'emitWarning').mockReturnValue();
  const shutDown = jest.fn();
  process.once('SIGTERM', shutDown);
  const away = coded('57P03');
  let attempts = 0;
  const start = onceBack(() => {
    attempts += 1;
    if (attempts === 2) process.emit('SIGTERM', 'SIGTERM');
    return Promise.reject(attempts > 2 ? new Error('asked once more') : away);
  });
  await expect(start).rejects.toBe(away);
  expect(shutDown).toHaveBeenCalledTimes(1);
});

it('leaves a signal that nobody handles to the system', async () => {
  jest.spyOn(process, 'emitWarning').mockReturnValue();
  const before = process.listenerCount('SIGTERM');
  let attempts = 0;
  await onceBack(async () => {
    attempts += 1;
    if (attempts === 1) throw coded('57P03');
    expect(process.listenerCount('SIGTERM')).toBe(before);
  });
  expect(before).toBe(0);
});

describe('A read of a start whose connections were open', () => {
  let database: TestDatabase;
  let postgres: TcpProxy;
  let dataSource: DataSource;
  beforeAll(async () => {
    database = await createTestDatabase();
    postgres = await startTcpProxy(database.url);
    const options = { type: 'postgres', ...NODE_POSTGRES, url: postgres.url } as const;
    dataSource = await openSessions(new DataSource(options));
  });
  afterAll(async () => {
    await dataSource?.destroy();
    await postgres?.close();
    await database?.drop();
  });

  it('waits for a Postgres that refuses connections by now', async () => {
    const { master } = dataSource.driver as unknown as { readonly master: Pool };
    const isGone = once(master, 'remove');
    await postgres.cut();
    await isGone;
    const told = new Promise<void>((resolve) => {
      jest.spyOn(process, 'emitWarning').mockImplementationOnce(() => resolve());
    });
    const read = onceFree(dataSource, () => queryRows(dataSource, 'SELECT 1 AS one', []));
    await Promise.race([told, read]);
    await postgres.restore();
    await expect(read).resolves.toEqual([{ one: 1 }]);
  });

  it('waits for one that was there as its first connection was opened, and refuses the next', async () => {
    const initialize = jest.spyOn(DataSource.prototype, 'initialize');
    initialize.mockImplementationOnce(async function (this: DataSource) {
      await this.initialize();
      const { master } = this.driver as unknown as { readonly master: Pool };
      const isGone = once(master, 'remove');
      await postgres.cut();
      await isGone;
      return this;
    });
    jest.spyOn(process, 'emitWarning').mockImplementationOnce(() => void postgres.restore());
    const options = { type: 'postgres', ...NODE_POSTGRES, url: postgres.url } as const;
    const opened = await onceBack((reached) => openSessions(new DataSource(options), reached));
    expect(await queryRows(opened, 'SELECT 1 AS one', [])).toEqual([{ one: 1 }]);
    await opened.destroy();
  });
});

it('waits for a Postgres that has no connection left until somebody gives one back', async () => {
  const database = await createTestDatabase();
  const name = new URL(database.url).pathname.slice(1);
  const allow = (connections: number) =>
    onServer(database.url, (server) =>
      server.query(`ALTER DATABASE ${name} CONNECTION LIMIT ${connections}`),
    );
  const told = jest.spyOn(process, 'emitWarning').mockImplementation(() => void allow(-1));
  try {
    await allow(0);
    const options = { type: 'postgres', ...NODE_POSTGRES, url: database.appUrl } as const;
    const opened = await onceBack((reached) => openSessions(new DataSource(options), reached));
    expect(await queryRows(opened, 'SELECT 1 AS one', [])).toEqual([{ one: 1 }]);
    await opened.destroy();
    expect(told).toHaveBeenCalledWith(
      expect.stringMatching(
        /^Waiting for Postgres, which has no connection left for it .*: too many/,
      ),
    );
  } finally {
    await database.drop();
  }
});
