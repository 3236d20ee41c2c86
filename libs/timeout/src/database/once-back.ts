import { wordsOf } from '../causes';
import {
  isCanceledStatement,
  isInfrastructureError,
  isNotLetIn,
  isOutOfConnections,
  isSessionEnded,
} from './database-errors';
import { startAgain } from './start-again';

const ENDED = 'has ended a session that the start needs';
const FULL =
  'has no connection left for it (max_connections, or a limit of its user or its database)';

/**
 * Something of Postgres without which a process does not start, again and again once Postgres has ended its session,
 * as by a restart, a failover or pg_terminate_backend, until it is back; or while others have all its connections.
 * @param attempt says by `reached` that Postgres was there, though it fails behind that: then it is waited for, too
 * @param wasThere true where connections are open already: then it is waited for in any case
 * @throws what the attempt does; at once where Postgres was not there at all, as by a wrong address, and where it lets
 *   nobody in, as by a wrong password or a certificate that has expired, or gives up a statement
 */
export function onceBack<T>(
  attempt: (reached: () => void) => Promise<T>,
  { wasThere: wasThereBefore = false }: { readonly wasThere?: boolean } = {},
): Promise<T> {
  let wasThere = wasThereBefore;
  const reached = (): void => {
    wasThere = true;
  };
  return startAgain(
    () => attempt(reached),
    (error) => {
      const isFull = isOutOfConnections(error);
      wasThere ||= isFull || isSessionEnded(error);
      const isAway =
        isInfrastructureError(error) && !isNotLetIn(error) && !isCanceledStatement(error);
      if (!wasThere || !isAway) return undefined;
      const said = error instanceof Error ? wordsOf(error) : String(error);
      return () => `Waiting for Postgres, which ${isFull ? FULL : ENDED}: ${said}`;
    },
  );
}
