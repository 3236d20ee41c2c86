import type { World } from '../../support/world';

/** What a handler with a bug throws, for every subject alike. */
export class HandlerBug extends Error {
  constructor() {
    super('The handler has a bug');
  }
}

/** Nobody is to blame for a bug of the handler: nothing may be left for an operator to do. */
export async function findHeld(world: World): Promise<string[]> {
  const [row] = await world.rows<{ n: number }>('SELECT count(*)::int AS n FROM held_deadlines');
  return row?.n ? [`${row.n} deadlines are held for a bug of their handler`] : [];
}
