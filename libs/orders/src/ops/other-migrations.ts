import { readMigrations } from '@app/timeout';
import type { DataSource } from 'typeorm';

/** By which the tables differ from those of this version; both empty where they are of this one. */
export interface OtherMigrations {
  /** Of this version, and not run. */
  readonly missing: readonly string[];
  /** Run, by a newer version, and unknown to this one. */
  readonly unknown: readonly string[];
}

/** What was run here, of the order module's tables, and what was not: for who starts, or looks. */
export async function otherMigrations(dataSource: DataSource): Promise<OtherMigrations> {
  const known = dataSource.migrations.map(
    (migration) => migration.name ?? migration.constructor.name,
  );
  const done = await readMigrations(dataSource);
  return {
    missing: known.filter((name) => !done.has(name)),
    unknown: [...done].filter((name) => !known.includes(name)),
  };
}
