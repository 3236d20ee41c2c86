import type { EntityManager, QueryRunner } from 'typeorm';

interface Client {
  query(...given: unknown[]): unknown;
}

/**
 * TypeORM's manager on the connection of `runner`. Before each statement that it sends `assertMay` is
 * asked, which throws where it may not: at the very moment, as TypeORM waits for others in between.
 */
export function fencedManager(
  runner: QueryRunner,
  assertMay: (sql: string) => void,
): EntityManager {
  // All else is as on the runner itself, as it is at any time.
  const fenced = Object.create(runner) as { -readonly [K in keyof QueryRunner]: QueryRunner[K] };
  let client: Client | undefined;
  fenced.connect = async () => {
    client ??= fencedClient((await runner.connect()) as Client, assertMay);
    return client;
  };
  fenced.manager = runner.dataSource.createEntityManager(fenced);
  return fenced.manager;
}

function fencedClient(client: Client, assertMay: (sql: string) => void): Client {
  const fenced = Object.create(client) as Client;
  fenced.query = (...given) => {
    const [statement] = given;
    assertMay(typeof statement === 'string' ? statement : (statement as { text: string }).text);
    return client.query(...given);
  };
  return fenced;
}
