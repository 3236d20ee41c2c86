import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { Pool } from 'pg';
import type { Tx } from '../../libs/timeout/src/public';
import type { OpenOrder, PaidOrder, TargetPayment } from '../../libs/orders/src/targets';
import {
  type CloseTargetFramework,
  type CloseTargetUnderTest,
  describeCloseTarget,
} from '../../libs/orders/src/testing';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { EXPIRED, NUMBERED_TABLES, NumberedOrders, OPEN, PAID } from '../support/numbered-shop';

const STATUSES = new Map<number | undefined, 'open' | 'closed' | 'paid'>([
  [OPEN, 'open'],
  [EXPIRED, 'closed'],
  [PAID, 'paid'],
]);

let database: TestDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = new Pool({ connectionString: database.url, options: '-c search_path=public' });
  await pool.query(NUMBERED_TABLES);
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

const shopWith = (target: NumberedOrders) => async (): Promise<CloseTargetUnderTest> => ({
  target,
  postgres: { pool },
  placeOrder: async () => {
    const { rows } = await pool.query<{ id: number }>(
      'INSERT INTO orders DEFAULT VALUES RETURNING id',
    );
    return String(rows[0]?.id);
  },
  openPayment: async (orderId) => {
    const reference = randomUUID();
    await pool.query(
      `INSERT INTO payments (order_id, provider, reference, amount, expires_at)
       VALUES ($1, 'acme', $2, 1999, now() + interval '1 hour')`,
      [orderId, reference],
    );
    return reference;
  },
  statusOf: async (orderId) => {
    const { rows } = await pool.query<{ state: number }>('SELECT state FROM orders WHERE id = $1', [
      orderId,
    ]);
    return STATUSES.get(rows[0]?.state) ?? 'open';
  },
});

describeCloseTarget('a numbered shop', shopWith(new NumberedOrders()));

/** Bugs as shops may have them, and what the contract says of each. */
class WaitsForLocks extends NumberedOrders {
  override lockOpen(ids: readonly string[], tx: Tx): Promise<OpenOrder[]> {
    return tx.query(
      `SELECT id, true AS locked FROM orders WHERE id = ANY ($1::int[]) AND state = ${OPEN} FOR UPDATE`,
      [ids],
    );
  }
}
class LocksNothing extends NumberedOrders {
  override lockOpen(ids: readonly string[], tx: Tx): Promise<OpenOrder[]> {
    return tx.query(
      `SELECT id, true AS locked FROM orders WHERE id = ANY ($1::int[]) AND state = ${OPEN}`,
      [ids],
    );
  }
}
class ClosesWhatIsPaid extends NumberedOrders {
  override async close(ids: readonly string[], reason: string, tx: Tx): Promise<string[]> {
    const rows = await tx.query<{ id: string }>(
      `UPDATE orders SET state = ${EXPIRED}, reason = $2 WHERE id = ANY ($1::int[]) RETURNING id`,
      [ids, reason],
    );
    return rows.map(({ id }) => id);
  }
}
class ClosesOneByOne extends NumberedOrders {
  override async close(ids: readonly string[], reason: string, tx: Tx): Promise<string[]> {
    const closed: string[] = [];
    for (const id of ids) closed.push(...(await super.close([id], reason, tx)));
    return closed;
  }
}
class PaysNothing extends NumberedOrders {
  override async markPaid(orders: readonly PaidOrder[]): Promise<string[]> {
    return orders.map(({ id }) => id);
  }
}
class ForgetsPayments extends NumberedOrders {
  override async findPayments(references: readonly string[], tx: Tx): Promise<TargetPayment[]> {
    const found = await super.findPayments(references, tx);
    const ids = found.map(({ orderId }) => orderId);
    const open = await tx.query<{ id: string }>(
      `SELECT id FROM orders WHERE id = ANY ($1::int[]) AND state = ${OPEN}`,
      [ids],
    );
    return found.filter(({ orderId }) => open.some(({ id }) => id === orderId));
  }
}
/** As where the instant is written only once the provider has answered. */
class OpensWithoutExpiry extends NumberedOrders {
  override async openPayments(ids: readonly string[], tx: Tx): Promise<TargetPayment[]> {
    return (await super.openPayments(ids, tx)).map(withoutExpiry);
  }
  override async findPayments(references: readonly string[], tx: Tx): Promise<TargetPayment[]> {
    return (await super.findPayments(references, tx)).map(withoutExpiry);
  }
}
const withoutExpiry = (one: TargetPayment) => ({ ...one, expiresAt: null as unknown as Date });
/** Whatever comes after it in this transaction is undone. */
class SwallowsFailures extends NumberedOrders {
  override async findPayments(references: readonly string[], tx: Tx): Promise<TargetPayment[]> {
    const found = await super.findPayments(references, tx);
    await tx.manager.query('SELECT 1 / 0').catch(() => undefined);
    return found;
  }
}

it.each([
  [WaitsForLocks, 'waits for nobody'],
  [LocksNothing, 'waits for nobody'],
  [ClosesWhatIsPaid, 'changes no order that has moved on'],
  [ClosesOneByOne, 'asks the database as often'],
  [PaysNothing, 'marks as paid, and undoes'],
  [ForgetsPayments, 'finds open payments'],
  [OpensWithoutExpiry, 'finds open payments'],
  [SwallowsFailures, 'finds open payments'],
])('catches %p', async (Target, complaint) => {
  const failed = await runContract(shopWith(new Target()));
  expect(failed.map(([title]) => title)).toEqual(
    expect.arrayContaining([expect.stringContaining(complaint)]),
  );
});

/** Runs it as a test framework would, and answers with what failed. */
async function runContract(
  setUp: () => Promise<CloseTargetUnderTest>,
): Promise<[title: string, error: unknown][]> {
  const before: (() => Promise<void>)[] = [];
  const after: (() => Promise<void>)[] = [];
  const tests: [string, () => Promise<void>][] = [];
  const framework: CloseTargetFramework = {
    describe: (_name, body) => body(),
    it: (title, body) => void tests.push([title, body]),
    beforeAll: (body) => void before.push(body),
    afterAll: (body) => void after.push(body),
  };
  describeCloseTarget('with a bug', setUp, framework);
  const failed: [string, unknown][] = [];
  for (const run of before) await run();
  for (const [title, run] of tests) {
    await run().catch((error: unknown) => failed.push([title, error]));
  }
  for (const run of after) await run();
  return failed;
}
