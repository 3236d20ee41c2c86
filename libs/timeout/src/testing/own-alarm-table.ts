import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { CHANNEL } from '../drivers/postgres/alarm-table';
import { timer } from '../drivers/postgres/postgres.timer';

const NAME = 'alarms under test';

/** A database of a test's own that holds the table of alarms and nothing else. */
export class OwnAlarmTable {
  private constructor(
    readonly url: string,
    private readonly serverUrl: string,
  ) {}

  static async create(): Promise<OwnAlarmTable> {
    const serverUrl = process.env.TEST_DATABASE_URL;
    if (!serverUrl) throw new Error('TEST_DATABASE_URL is not set: run the tests by npm test');
    const name = `test_${process.pid}_${randomBytes(4).toString('hex')}`;
    await onServer(serverUrl, (client) => client.query(`CREATE DATABASE ${name}`));
    const url = new URL(serverUrl);
    url.pathname = `/${name}`;
    const migrations = [...(timer.migrations ?? [])];
    const dataSource = new DataSource({ type: 'postgres', url: url.href, migrations });
    await dataSource.initialize();
    await dataSource.runMigrations();
    await dataSource.destroy();
    return new OwnAlarmTable(url.href, serverUrl);
  }

  /** What a driver connects with. */
  get connection(): { connectionString: string; application_name: string } {
    return { connectionString: this.url, application_name: NAME };
  }

  /** How many connections drivers have; one that was just ended may still be leaving. */
  async connections(): Promise<number> {
    const count = async (): Promise<number> => {
      const sql = 'SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = $1';
      const { rows } = await onServer(this.url, (client) =>
        client.query<{ n: number }>(sql, [NAME]),
      );
      return rows[0]?.n ?? 0;
    };
    let before = await count();
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      const now = await count();
      if (now === before) return now;
      before = now;
    }
  }

  async empty(): Promise<void> {
    await onServer(this.url, (client) => client.query('TRUNCATE alarms'));
  }

  /** From now on Postgres plans as if there was one alarm, of another queue. */
  async lookedAtWhileEmpty(): Promise<void> {
    await onServer(this.url, async (client) => {
      await client.query('ALTER TABLE alarms SET (autovacuum_enabled = false)');
      await client.query(`INSERT INTO alarms VALUES ('nobody''s', 'alarm', now(), now())`);
      await client.query('VACUUM ANALYZE alarms');
    });
  }

  /** What was notified while `during` ran. */
  notifications(during: () => Promise<void>): Promise<string[]> {
    return onServer(this.url, async (client) => {
      const heard: string[] = [];
      client.on('notification', ({ payload = '' }) => heard.push(payload));
      await client.query(`LISTEN ${CHANNEL}`);
      await during();
      // What was notified before this statement arrives before its answer.
      await client.query('SELECT 1');
      return heard;
    });
  }

  async drop(): Promise<void> {
    const name = new URL(this.url).pathname.slice(1);
    const sql = `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`;
    await onServer(this.serverUrl, (client) => client.query(sql));
  }
}

async function onServer<T>(url: string, ask: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await ask(client);
  } finally {
    await client.end();
  }
}
