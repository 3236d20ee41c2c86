import type { QueryRunner } from 'typeorm';

/** Which kinds of movements there may be. Rows that exist are not read: each of them met a narrower rule. */
export async function constrainKinds(runner: QueryRunner, kinds: readonly string[]): Promise<void> {
  const name = 'money_movements_kind_check';
  await runner.query(`ALTER TABLE money_movements DROP CONSTRAINT ${name}`);
  await runner.query(
    `ALTER TABLE money_movements ADD CONSTRAINT ${name} CHECK (kind IN (${quoted(kinds)})) NOT VALID`,
  );
}

/** SQL: what movements of these kinds come to, in minor units. */
export const sum = (...kinds: readonly string[]): string =>
  `coalesce(sum(amount) FILTER (WHERE kind IN (${quoted(kinds)})), 0)::bigint`;

const quoted = (kinds: readonly string[]): string => kinds.map((kind) => `'${kind}'`).join(', ');
