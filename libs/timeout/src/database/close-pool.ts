import type { DataSource } from 'typeorm';

const closing = new WeakMap<DataSource, Promise<void>>();

/** However often an application is closed, as by a signal and by hand: connections end once, and all wait for it. */
export function closePool(pool: DataSource): Promise<void> {
  const closed = closing.get(pool) ?? pool.destroy();
  closing.set(pool, closed);
  return closed;
}
