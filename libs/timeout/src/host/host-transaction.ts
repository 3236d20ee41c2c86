/**
 * The transaction that a host is in, by whatever library: what is armed in it is armed if it commits.
 * `query` runs one statement with `$1`, `$2`, ... and answers with its rows.
 */
export interface HostTransaction {
  query(sql: string, params: readonly unknown[]): Promise<readonly unknown[]>;
  /** Where the library has such hooks. */
  afterCommit?(hook: () => void): void;
}

/** @throws {TypeError} for what has no such method: what no compiler has looked at, or nothing */
function assertIs(given: unknown, method: string, words: string): void {
  const isIt =
    typeof (given as Record<string, unknown> | null | undefined)?.[method] === 'function';
  if (!isIt) throw new TypeError(`${words}, not ${given === null ? 'null' : typeof given}`);
}

/** TypeORM: the manager that `dataSource.transaction(async (manager) => ...)` gives. */
export function fromTypeOrm(manager: {
  query(sql: string, params?: unknown[]): Promise<unknown>;
}): HostTransaction {
  assertIs(manager, 'query', 'fromTypeOrm takes the manager that dataSource.transaction gives');
  return { query: async (sql, params) => (await manager.query(sql, [...params])) as unknown[] };
}

/** node-postgres: the client between `BEGIN` and `COMMIT`. */
export function fromPg(client: {
  query(sql: string, params?: unknown[]): Promise<{ rows: unknown[] }>;
}): HostTransaction {
  assertIs(client, 'query', 'fromPg takes the client between BEGIN and COMMIT');
  return { query: async (sql, params) => (await client.query(sql, [...params])).rows };
}

/** Knex: the transaction of `knex.transaction(async (trx) => ...)`. */
export function fromKnex(trx: {
  raw(sql: string, bindings: readonly never[]): PromiseLike<{ rows: unknown[] }>;
}): HostTransaction {
  assertIs(trx, 'raw', 'fromKnex takes the transaction that knex.transaction gives');
  return {
    query: async (sql, params) => {
      const bindings = [...sql.matchAll(/\$(\d+)/g)].map(([, n]) => params[Number(n) - 1]);
      return (await trx.raw(sql.replace(/\$\d+/g, '?'), bindings as never[])).rows;
    },
  };
}

/** Drizzle on node-postgres or postgres.js: the `tx` of `db.transaction`, and its `sql`. */
export function fromDrizzle<Query>(
  tx: { execute(query: Query): PromiseLike<unknown> },
  sql: {
    (strings: TemplateStringsArray, ...params: unknown[]): Query;
  },
): HostTransaction {
  assertIs(tx, 'execute', 'fromDrizzle takes the tx that db.transaction gives');
  return {
    query: async (text, params) => {
      const strings = text.split(/\$\d+/);
      const given = [...text.matchAll(/\$(\d+)/g)].map(([, n]) => params[Number(n) - 1]);
      const template = Object.assign(strings, { raw: strings }) as unknown as TemplateStringsArray;
      const answer = await tx.execute(sql(template, ...given));
      return Array.isArray(answer) ? (answer as unknown[]) : (answer as { rows: unknown[] }).rows;
    },
  };
}

/** Prisma: the client that `prisma.$transaction(async (tx) => ...)` gives. */
export function fromPrisma(tx: {
  $queryRawUnsafe(sql: string, ...params: unknown[]): PromiseLike<unknown>;
}): HostTransaction {
  assertIs(tx, '$queryRawUnsafe', 'fromPrisma takes the client that prisma.$transaction gives');
  return { query: async (sql, params) => (await tx.$queryRawUnsafe(sql, ...params)) as unknown[] };
}
