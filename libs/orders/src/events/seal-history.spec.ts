import { randomBytes, randomUUID } from 'node:crypto';
import { inTransaction } from '@app/timeout';
import type { Type } from '@nestjs/common';
import { Client } from 'pg';
import type { DataSource } from 'typeorm';
import { historyIsOver } from '../../../../test/support/history-is-over';
import { insertOrders } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { BACKGROUND } from '../data-source';
import { RewindEvents } from '../ops/rewind-events';
import { waitingFor } from '../order/advisory-locks';
import { SealHistory } from './seal-history';
import { type HistoryReport, verifyHistory } from './verify-history';

const KEY = randomBytes(32).toString('hex');
const OTHER_KEY = randomBytes(32).toString('hex');

let world: World;
const open = async () => (world = await openWorld({ settings: { HISTORY_SEAL_KEY: KEY } }));

const seal = async (rows?: number) => {
  await historyIsOver(world);
  return world.get(SealHistory).runOnce(undefined, rows);
};
const verify = (key: string | null = KEY) => verifyHistory(world, key, 'all');
const told = ({ breaks: found }: HistoryReport) =>
  found.map(({ history, seal: at, what }) => `${history} ${at} ${what}`);
const breaks = async () => told(await verify());
const act = (reason: string) =>
  world.rows(
    `INSERT INTO operator_actions (actor, action, subject_kind, subject_id, reason)
     VALUES ('olivia', 'refund.retry', 'refund', $1, $2)`,
    [randomUUID(), reason],
  );
const STOCK = ['stock_movements', 'unfolded_stock_movements'] as const;
/** A movement of stock for each event, as its transaction would have appended it. */
const moved = (table: (typeof STOCK)[number]) =>
  `INSERT INTO ${table} (tx, id, sku, effect, quantity, at)
   OVERRIDING SYSTEM VALUE SELECT tx, id, 'A', 'sell', 1, at FROM order_events`;
/** Five orders, each in a transaction of its own, in seals of two events; two operators' actions. */
async function sealedHistory(): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) {
    const [order] = await insertOrders(world, { count: 1, closesInMs: 60_000 });
    ids.push(order?.id as string);
  }
  await act('first');
  await act('second');
  const made = await seal(2);
  expect(made.map(({ history, number, rows }) => [history, number, rows])).toEqual([
    ['order_events', 1, 2],
    ['order_events', 2, 2],
    ['order_events', 3, 1],
    ['operator_actions', 1, 2],
  ]);
  return ids;
}

describe('whoever owns the database', () => {
  let ids: string[];
  beforeAll(async () => {
    await open();
    ids = await sealedHistory();
  });
  afterAll(() => world?.close());

  /** What is told of a change that is not kept. */
  const breaksAfter = async (sql: string, params: unknown[] = []) => {
    let found: string[] = [];
    const kept = inTransaction(await world.owner.dataSource(), async (tx) => {
      await tx.rows(sql, params);
      found = told(await verifyHistory(tx, KEY, 'all'));
      throw new Error('rolled back');
    });
    await expect(kept).rejects.toThrow('rolled back');
    return found;
  };

  it.each([
    [
      'rewrites who',
      `UPDATE order_events SET actor = 'bob' WHERE order_id = $1`,
      'order_events 2 rows',
    ],
    [
      'rewrites when',
      `UPDATE order_events SET at = at + interval '1 s' WHERE order_id = $1`,
      'order_events 2 rows',
    ],
    ['deletes', 'DELETE FROM order_events WHERE order_id = $1', 'order_events 2 rows'],
    [
      'inserts',
      `INSERT INTO order_events (order_id, version, type, to_status, by, tx)
     SELECT order_id, 2, 'order.paid', 'paid', 'system', tx FROM order_events WHERE order_id = $1`,
      'order_events 2 rows',
    ],
    [
      'exchanges',
      `UPDATE order_events SET version = 3 - version, tx = tx WHERE order_id = $1`,
      'order_events 2 rows',
    ],
  ])('is told of where, when %s', async (_, sql, where) => {
    expect(await breaksAfter(sql, [ids[2]])).toEqual([where]);
  });

  it.each([
    [
      `UPDATE operator_actions SET reason = 'nothing' WHERE reason = 'second'`,
      ['operator_actions 1 rows'],
    ],
    [
      `DELETE FROM history_salts WHERE of LIKE 'customer %'`,
      ['order_events 3 rows', 'order_events 2 rows', 'order_events 1 rows'],
    ],
    [`DELETE FROM history_seals WHERE number = 2`, ['order_events 3 link']],
    [
      `DELETE FROM history_seals WHERE number = 1 AND history = 'order_events'`,
      ['order_events 2 link'],
    ],
    [`UPDATE history_seals SET last_at = now() WHERE number = 2`, ['order_events 2 link']],
    [
      `UPDATE history_seals SET signature = NULL`,
      ['order_events 3 signature', 'operator_actions 1 signature'],
    ],
  ])('tells where, after %s', async (sql, where) => {
    expect(await breaksAfter(sql)).toEqual(where);
  });
});

describe('sealing', () => {
  beforeEach(open);
  afterEach(() => world?.close());

  it('seals each row once, in a chain, and nothing where nothing is new', async () => {
    await sealedHistory();
    expect(await seal(2)).toEqual([]);
    await act('third');
    expect(await seal()).toMatchObject([{ history: 'operator_actions', number: 2, rows: 1 }]);
    expect(await verify()).toMatchObject({ seals: 5, rows: 8, isSigned: true, breaks: [] });
  });

  it('is verified by the newest rows of each table, however many the other has', async () => {
    await sealedHistory();
    await world.rows(`UPDATE operator_actions SET reason = 'nothing'`);
    const newest = await verifyHistory(world, KEY, 3);
    expect(newest).toMatchObject({ rows: 5, sealedRows: 7 });
    expect(told(newest)).toEqual(['operator_actions 1 rows']);
  });

  it('is not deceived by seals that are made anew without the key, nor does it forget its own', async () => {
    const ids = await sealedHistory();
    const owner = await openWorld({ beside: world, settings: { HISTORY_SEAL_KEY: OTHER_KEY } });
    try {
      await world.rows('DELETE FROM order_events WHERE order_id = $1', [ids[2]]);
      await world.rows('DELETE FROM history_seals');
      await historyIsOver(world);
      await owner.get(SealHistory).runOnce();
      expect(await breaks()).toEqual(['order_events 1 signature', 'operator_actions 1 signature']);
    } finally {
      await owner.close();
    }
    await seal();
    expect(world.told.filter(({ name }) => name === 'alert').map(({ args }) => args[0])).toEqual([
      'a seal of the history is gone',
      'a seal of the history is gone',
    ]);
  });

  it('waits for transactions that are under way, and seals what they write afterwards', async () => {
    const slow = new Client({ connectionString: world.config.DATABASE_URL });
    await slow.connect();
    try {
      await slow.query(`SET search_path = ${world.config.DATABASE_SCHEMA}`);
      await slow.query('BEGIN');
      await slow.query(
        `INSERT INTO order_events (order_id, version, type, to_status, by)
       VALUES (gen_random_uuid(), 1, 'order.placed', 'pending_payment', 'system')`,
      );
      await insertOrders(world, { count: 3, closesInMs: 60_000 });
      expect(await world.get(SealHistory).runOnce()).toEqual([]);
      await slow.query('COMMIT');
      expect(await seal()).toMatchObject([{ history: 'order_events', number: 1, rows: 4 }]);
      expect(await breaks()).toEqual([]);
    } finally {
      await slow.end();
    }
  });

  it('keeps one chain when several workers seal at once, and takes a transaction whole', async () => {
    await insertOrders(world, { count: 50, closesInMs: 60_000 });
    await historyIsOver(world);
    const beside = await Promise.all([1, 2, 3].map(() => openWorld({ beside: world })));
    try {
      await Promise.all(
        [world, ...beside].map((one) => one.get(SealHistory).runOnce(undefined, 10)),
      );
      await seal(10);
      const rows = await world.rows('SELECT history, rows FROM history_seals WHERE rows > 0');
      expect(rows).toEqual([{ history: 'order_events', rows: 50 }]);
      expect(await breaks()).toEqual([]);
    } finally {
      await Promise.all(beside.map((one) => one.close()));
    }
  });

  it('leaves all of it to who is at it, and takes no window between two of theirs', async () => {
    const other = new Client({ connectionString: world.config.DATABASE_URL });
    await other.connect();
    const transactions = jest.spyOn(
      world.get(BACKGROUND as never as Type<DataSource>),
      'createQueryRunner',
    );
    try {
      await other.query(`SET search_path = ${world.config.DATABASE_SCHEMA}`);
      await other.query('BEGIN');
      await other.query(`SELECT ${waitingFor('seals')}`);
      expect(await world.get(SealHistory).runOnce()).toEqual([]);
      expect(transactions).toHaveBeenCalledTimes(1);
    } finally {
      transactions.mockRestore();
      await other.end();
    }
  });

  it('says what it has left, until all is sealed', async () => {
    const sealing = world.get(SealHistory);
    for (let n = 0; n < 102; n++) await act(`change ${n}`);
    expect(await seal(1)).toHaveLength(100);
    expect(sealing.isBehind).toBe(true);
    expect(await sealing.runOnce(() => true, 1)).toHaveLength(1);
    expect(sealing.isBehind).toBe(true);
    expect(await seal(1)).toHaveLength(1);
    expect(sealing.isBehind).toBe(false);
  });

  it('signs with a key that is new, and so vouches for all there was', async () => {
    await sealedHistory();
    const rotated = await openWorld({ beside: world, settings: { HISTORY_SEAL_KEY: OTHER_KEY } });
    try {
      expect((await verify(OTHER_KEY)).breaks).toHaveLength(2);
      await historyIsOver(world);
      const made = await rotated.get(SealHistory).runOnce();
      expect(made.map(({ rows }) => rows)).toEqual([0, 0]);
      expect((await verify(OTHER_KEY)).breaks).toEqual([]);
    } finally {
      await rotated.close();
    }
  });

  it('holds after a dump and restore, and the rewind of the relay that follows', async () => {
    await sealedHistory();
    // As if this cluster had counted from far behind: what is new has smaller numbers than the history.
    for (const table of ['order_events', 'operator_actions']) {
      await world.rows(`UPDATE ${table} SET tx = (tx::text::bigint + 1000000)::text::xid8`);
    }
    await world.rows('DELETE FROM history_seals');
    await world.rows(
      `UPDATE relay_cursor SET tx_from = '9000000', tx_until = '9000000', tx_ahead = 2000000`,
    );
    await seal(2);
    await world.rows('UPDATE relay_cursor SET tx_ahead = 0');
    await insertOrders(world, { count: 1, closesInMs: 60_000 });
    for (const table of STOCK) await world.rows(moved(table));
    expect(await world.get(SealHistory).runOnce()).toEqual([]);
    await new RewindEvents(world.dataSource).rewind({
      actor: 'olivia',
      reason: 'restored',
      to: new Date(Date.now() - 60_000),
    });
    expect((await seal()).map(({ history, rows }) => [history, rows])).toEqual([
      ['order_events', 1],
      ['operator_actions', 1],
    ]);
    expect(await breaks()).toEqual([]);
    // What is sealed keeps its number, what is new has another, and stock goes by its orders.
    for (const table of STOCK) {
      const strays = `SELECT m.id FROM ${table} m JOIN order_events e USING (id) WHERE e.tx <> m.tx`;
      expect(await world.rows(strays)).toEqual([]);
      const [row] = await world.rows(`SELECT count(DISTINCT tx)::int AS numbers FROM ${table}`);
      expect(row).toEqual({ numbers: 6 });
    }
  });
});
