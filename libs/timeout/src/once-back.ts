import { isInfrastructureError, isSessionEnded } from './database-errors';
import { startAgain } from './start-again';

/**
 * Something of Postgres without which a process does not start, again and again once Postgres has ended its session,
 * as by a restart, a failover or pg_terminate_backend, until it is back.
 * @throws what the attempt does; at once where Postgres was not there at all, as by a wrong address
 */
export function onceBack<T>(attempt: () => Promise<T>): Promise<T> {
  let wasThere = false;
  return startAgain(attempt, (error) => {
    wasThere ||= isSessionEnded(error);
    if (!wasThere || !isInfrastructureError(error)) return undefined;
    const said = error instanceof Error ? error.message : String(error);
    return () => `Waiting for Postgres, which has ended a session that the start needs: ${said}`;
  });
}
