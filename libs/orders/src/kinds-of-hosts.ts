import { kindsArmedByHosts } from '@app/timeout';
import { ConfigError } from './config';

/** Runs a statement of ours, by whichever library. */
type Query = (sql: string, params: readonly unknown[]) => Promise<readonly unknown[]>;

/**
 * A kind is claimed by its name, whoever has armed it: a host's service that has deadlines of one of ours would
 * take what is not its own, and so would we.
 * @throws {ConfigError} while some wait in this schema
 */
export async function assertNoneOfHosts(schema: string, query: Query): Promise<void> {
  const kinds = await kindsArmedByHosts(schema, query);
  if (kinds.length === 0) return;
  const names = kinds.map((kind) => `"${kind}"`).join(', ');
  throw new ConfigError(
    `Deadlines of kind ${names} of another service wait in the schema "${schema}", by the name of those of ` +
      "lastcall's orders: each of the two would take what is not its own. Give the orders a schema of their own " +
      '(DATABASE_SCHEMA, or the option `schema`), or the other service another kind, as "shop.payment", and cancel ' +
      `what still waits under the old one ("${schema}".timeout_subjects).`,
  );
}
