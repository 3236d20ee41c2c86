import { sqlStateOf } from '@app/timeout';

/** SQLSTATE classes that speak of the server and not of the statement. */
const INFRASTRUCTURE_CLASSES = /^(08|53|57|58)/;
const CONNECTION_TROUBLE =
  /ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|Connection terminated|timeout exceeded|not connected|not established/i;

/** True when the database is away, full or overloaded: nothing a caller sent has caused it. */
export function isInfrastructureError(error: unknown): boolean {
  const state = sqlStateOf(error);
  if (state !== undefined) return INFRASTRUCTURE_CLASSES.test(state);
  if (!(error instanceof Error)) return false;
  const code = (error as { code?: unknown }).code;
  return CONNECTION_TROUBLE.test(`${typeof code === 'string' ? code : ''} ${error.message}`);
}
