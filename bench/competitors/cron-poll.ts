import { closeOne } from './close-orders';
import { compete } from './competitor';

const EVERY_MS = 1_000;

/** What most shops begin with: every second, look for overdue orders and update them one by one. */
compete(async ({ pool }) => {
  await pool.query(
    `CREATE INDEX IF NOT EXISTS orders_overdue ON orders (closes_at) WHERE status = 'pending_payment'`,
  );
  const poll = async (): Promise<void> => {
    const { rows } = await pool.query<{ id: string }>(
      `SELECT id FROM orders WHERE status = 'pending_payment' AND closes_at <= now()
        ORDER BY closes_at`,
    );
    for (const { id } of rows) await closeOne(pool, id);
    setTimeout(() => void poll(), EVERY_MS);
  };
  void poll();
});
