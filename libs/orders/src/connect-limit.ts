import { CONNECT_LIMIT_MS } from '@app/timeout';

/**
 * A connection is waited for so long; then the caller hears that the database is away. Not a constant:
 * a command has no customer who waits for it, and tests share a machine whose cores may be busy for
 * longer, and mean another database that is away.
 */
export const CONNECTING = { limitMs: CONNECT_LIMIT_MS };

/** Connections of this process that are opened from now on are waited for so long, in milliseconds. */
export function connectWithin(limitMs: number): void {
  CONNECTING.limitMs = limitMs;
}
