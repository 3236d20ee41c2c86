import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { insertDeadlines } from '../deadlines/deadlines';
import { BrakesOfKinds1764140000000 } from '../migrations/1764140000000-brakes-of-kinds';
import { StoppedKinds1764160000000 } from '../migrations/1764160000000-stopped-kinds';
import { Deadlines1763600000000 } from '../migrations/1763600000000-deadlines';
import { Workers1763600010000 } from '../migrations/1763600010000-workers';
import { TimeoutBrakes1763600020000 } from '../migrations/1763600020000-timeout-brakes';
import { NearAndFarDeadlines1763700210000 } from '../migrations/1763700210000-near-and-far-deadlines';
import { SweepShards1763930020000 } from '../migrations/1763930020000-sweep-shards';
import { startUpOptions, UNDERSTOOD } from '../database/session-settings';
import { inTransaction } from '../database/in-transaction';
import { queryRows } from '../database/query-rows';

export interface StoredDeadline {
  readonly kind: string;
  readonly subject_id: string;
  readonly due_at: Date;
  readonly version: number;
  readonly failures: number;
}

/** A database of a test's own that holds nothing but deadlines, what is kept of their handling, and a table to have effects on. */
export class DeadlineStore {
  private constructor(
    readonly dataSource: DataSource,
    private readonly serverUrl: string,
    private readonly name: string,
  ) {}

  static async open(): Promise<DeadlineStore> {
    const serverUrl = process.env.TEST_DATABASE_URL;
    if (!serverUrl) throw new Error('TEST_DATABASE_URL is not set: run the tests by npm test');
    const name = `test_${process.pid}_${randomBytes(4).toString('hex')}`;
    await onServer(serverUrl, `CREATE DATABASE ${name}`);
    const url = new URL(serverUrl);
    url.pathname = `/${name}`;
    const dataSource = new DataSource({
      type: 'postgres',
      url: url.href,
      poolSize: 8,
      extra: { pipeline: true, options: startUpOptions(UNDERSTOOD) },
      migrations: [
        Deadlines1763600000000,
        Workers1763600010000,
        TimeoutBrakes1763600020000,
        NearAndFarDeadlines1763700210000,
        SweepShards1763930020000,
        BrakesOfKinds1764140000000,
        StoppedKinds1764160000000,
      ],
    });
    await dataSource.initialize();
    await dataSource.runMigrations();
    await dataSource.query('CREATE TABLE effects (subject_id uuid NOT NULL, by text NOT NULL)');
    return new DeadlineStore(dataSource, serverUrl, name);
  }

  /** Connections of their own that wait for no lock for long, while `work` has them. */
  async impatiently(work: (dataSource: DataSource) => Promise<void>): Promise<void> {
    const options = `${startUpOptions(UNDERSTOOD)} -c lock_timeout=20`;
    const extra = { pipeline: true, options };
    const dataSource = new DataSource({ ...this.dataSource.options, extra });
    await dataSource.initialize();
    await work(dataSource).finally(() => dataSource.destroy());
  }

  async close(): Promise<void> {
    await this.dataSource.destroy();
    await onServer(this.serverUrl, `DROP DATABASE IF EXISTS ${this.name} WITH (FORCE)`);
  }

  async empty(): Promise<void> {
    const tables =
      'deadlines, held_deadlines, sweep_shards, timeout_brakes, machine_clocks, effects';
    await this.dataSource.query(`TRUNCATE ${tables}`);
  }

  rows<T>(sql: string, params: readonly unknown[] = []): Promise<T[]> {
    return queryRows<T>(this.dataSource, sql, params);
  }

  async now(): Promise<Date> {
    const [row] = await this.rows<{ now: Date }>('SELECT clock_timestamp() AS now');
    return (row as { now: Date }).now;
  }

  /** One deadline each, due so many milliseconds from the database's now; returns the subjects. */
  async add(kind: string, dueInMs: readonly number[]): Promise<string[]> {
    const nowMs = (await this.now()).getTime();
    const deadlines = dueInMs.map((ms, index) => ({
      kind,
      subjectId: subject(index),
      dueAt: new Date(nowMs + ms),
      version: 1,
    }));
    await inTransaction(this.dataSource, (tx) => insertDeadlines(tx, deadlines));
    return deadlines.map(({ subjectId }) => subjectId);
  }

  deadlines(): Promise<StoredDeadline[]> {
    return this.rows(
      'SELECT kind, subject_id, due_at, version, failures FROM deadlines ORDER BY due_at, subject_id',
    );
  }
}

/** A subject's id that can be read in a failing test. */
export function subject(index: number): string {
  return `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
}

async function onServer(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
