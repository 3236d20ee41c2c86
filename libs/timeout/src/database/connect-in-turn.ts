import type { Pool } from 'pg';
import { ofOwnConnection } from './own-connection';

/** Connections of one pool that are opened at the same time. */
const AT_ONCE = 4;

type Connected = (error?: Error | null) => void;

/** What pg's pool does with a client that it opens. */
interface Opened {
  readonly connection: { readonly stream: { readonly destroyed: boolean } };
  connect(connected: Connected): void;
}

/** What pg's types do not tell of: the pool makes its clients by it. */
interface PoolOf {
  Client: new (config: object) => Opened;
}

/**
 * Has a pool open its connections a few at a time; the others wait. After a failover all processes want all of theirs
 * at once, and Postgres greets all of them alike: where cores are few, none of hundreds is there within the
 * time for which it is waited for, and all begin anew. Of a few some always are.
 */
export function connectInTurn(pool: Pool): void {
  const inside = pool as unknown as PoolOf;
  const waiting: (() => void)[] = [];
  let free = AT_ONCE;
  const next = (): void => {
    const begin = free > 0 ? waiting.shift() : undefined;
    if (!begin) return;
    free -= 1;
    begin();
  };
  inside.Client = class extends inside.Client {
    override connect(connected: Connected): void {
      const over: Connected = (error) => {
        free += 1;
        next();
        ofOwnConnection(error);
        connected(error);
      };
      waiting.push(() => {
        // The pool gives up by the same time also who has not begun.
        if (this.connection.stream.destroyed) over(new Error('Waited too long for its turn'));
        else super.connect(over);
      });
      next();
    }
  };
}
