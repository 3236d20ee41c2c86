import { type DataSource, type EntityManager, QueryFailedError, type QueryRunner } from 'typeorm';
import { StillLockedError, unlessLocked } from './locked-statements';
import { ofOwnConnection } from './own-connection';
import { asOneStatement, whyNotAsOne } from './lent-transaction';
import { HOSTS_TYPES } from './own-types';
import { rejectInTurn } from './reject-in-turn';

interface Client {
  query(...given: unknown[]): unknown;
}

/** As TypeORM asks for a statement without parameters, which may be several in one text. */
const isBareText = (given: unknown[]): given is [string, []?] =>
  typeof given[0] === 'string' &&
  given.slice(1).every((one) => one === undefined || (Array.isArray(one) && one.length === 0));

/** A host's data source, of whichever version: its subscribers come and go. */
interface Subscribed {
  readonly subscribers?: readonly object[];
}

const BESIDE = new WeakMap<DataSource, Subscribed>();

/**
 * Subscribers of a host, which stamp, encrypt or write down what is saved, hear from here on what is done by
 * managers of `ours`, as by the host's own. Of what we do there by ourselves they hear nothing.
 */
export function letHear(ours: DataSource, host: Subscribed): void {
  BESIDE.set(ours, host);
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
    const own = (await runner.connect()) as Client;
    client ??= fencedClient(own, runner.dataSource, assertMay);
    return client;
  };
  const manager = runner.dataSource.createEntityManager(fenced);
  fenced.manager = manager;
  rejectsInTurn(fenced, 'query');
  // These refuse by themselves what is asked of a connection that has gone back.
  rejectsInTurn(manager, 'query');
  rejectsInTurn(manager, 'transaction');
  const host = BESIDE.get(runner.dataSource);
  if (host?.subscribers) {
    // What it asks for subscribers, and tells them of, is the host's data source; what they do is done in here.
    const toHost = Object.create(fenced, { dataSource: { value: host } }) as QueryRunner;
    const queryRunner = { value: toHost };
    fenced.broadcaster = Object.create(runner.broadcaster, {
      queryRunner,
    }) as typeof runner.broadcaster;
  }
  return fenced.manager;
}

/**
 * In place of a statement that is not sent: whoever goes on from its failure, with no savepoint to go back to, would
 * commit all the others.
 */
const FAIL = `DO $$ BEGIN
  RAISE lock_not_available USING MESSAGE = 'A table is locked: a statement of this transaction was not sent';
END $$`;

/** Once the connection is given up, nothing that TypeORM is asked for waits for anything. */
function rejectsInTurn<Name extends string>(
  of: Record<Name, (...given: never[]) => Promise<unknown>>,
  name: Name,
): void {
  const ask = of[name] as (...given: unknown[]) => Promise<unknown>;
  of[name] = (...given: unknown[]) => ask.apply(of, given).catch(rejectInTurn);
}

function fencedClient(
  client: Client,
  dataSource: DataSource,
  assertMay: (sql: string) => void,
): Client {
  const fenced = Object.create(client) as Client;
  fenced.query = (...given) => {
    const [statement] = given;
    // A stream has none.
    const { text = '' } =
      typeof statement === 'string' ? { text: statement } : (statement as { text?: string });
    assertMay(text);
    const send = (): unknown =>
      heard(isBareText(given) ? queryBare(client, given[0]) : client.query(...asOfHost(given)));
    if (typeof statement !== 'string') return send();
    return judged(dataSource, text, send).catch(async (error: unknown) => {
      if (error instanceof StillLockedError) {
        await (client.query(FAIL) as Promise<unknown>).catch(ofOwnConnection);
      }
      throw error;
    });
  };
  return fenced;
}

/** What it waits for in vain is understood as what a statement of ours does. */
async function judged(dataSource: DataSource, text: string, send: () => unknown): Promise<unknown> {
  try {
    return await unlessLocked(dataSource, text, async () => {
      try {
        return await send();
      } catch (error) {
        throw new QueryFailedError(text, [], error as Error);
      }
    });
  } catch (error) {
    // TypeORM itself wraps what the driver has said.
    throw error instanceof QueryFailedError ? error.driverError : error;
  }
}

/** A stream tells of its errors itself. */
function heard(answer: unknown): unknown {
  if (answer instanceof Promise) answer.catch(ofOwnConnection);
  return answer;
}

/** A text and its parameters, taken apart as on connections of the host's own. */
function asOfHost(given: unknown[]): unknown[] {
  const [text, values, ...others] = given;
  return typeof text === 'string' ? [{ text, values, types: HOSTS_TYPES }, ...others] : given;
}

async function queryBare(client: Client, text: string): Promise<unknown> {
  try {
    return await client.query({ text, types: HOSTS_TYPES, ...asOneStatement(text) });
  } catch (error) {
    throw whyNotAsOne(error, text);
  }
}
