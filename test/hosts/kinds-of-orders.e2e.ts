import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Pool } from 'pg';
import { DEADLINE_KINDS } from '../../libs/orders/src/order/deadline-table';
import { armFromQuery } from '../../libs/timeout/src/host/arm-from-query';
import { KINDS_OF_ORDERS } from '../../libs/timeout/src/deadlines/kinds-of-orders';
import {
  DeadlineHandler,
  type Due,
  fromPg,
  getTimeoutsToken,
  type HandlesDue,
  type HostBrake,
  TimeoutModule,
  type Timeouts,
} from '../../libs/timeout/src/public';
import { createTestDatabase } from '../support/database';
import { until } from '../support/until';
import { openWorld, type World } from '../support/world';

class Ends implements HandlesDue {
  handle(due: readonly Due[]): Promise<{ changed: number }> {
    return Promise.resolve({ changed: due.length });
  }
}
@DeadlineHandler('payment')
class EndsPayments extends Ends {}
@DeadlineHandler('shop.payment')
class EndsOwnPayments extends Ends {}

/** A host's deadlines, in this schema of that database. */
async function hosting(
  url: string,
  handlers: readonly Type<HandlesDue>[],
  schema = 'lastcall',
  brake?: HostBrake,
) {
  const module = await Test.createTestingModule({
    imports: [TimeoutModule.forRoot({ postgres: { url }, schema, brake })],
    providers: [...handlers],
  }).compile();
  return module.enableShutdownHooks();
}

const deadline = (kind: string) => ({ kind, subjectId: 'ann', dueAt: new Date('2099-01-01') });

describe('deadlines of a host beside those of orders', () => {
  let world: World;
  let pool: Pool;
  beforeAll(async () => {
    world = await openWorld();
    pool = new Pool({ connectionString: world.ownerUrl });
  });
  afterAll(async () => {
    await pool?.end();
    await world?.close();
  });

  it('are told apart by their kinds: these are those of orders', () => {
    expect([...KINDS_OF_ORDERS].sort()).toEqual([...DEADLINE_KINDS].sort());
  });

  it('are not handled by a handler of such a kind', async () => {
    const module = await hosting(world.ownerUrl, [EndsPayments]);
    await expect(module.init()).rejects.toMatchObject({
      ...{ code: 'reserved_kind', message: expect.stringContaining('"shop.payment"') as string },
    });
    await module.close();
  });

  it.each([
    ['without a brake', undefined],
    ['with a brake', { kinds: ['shop.payment'] }],
  ])('let none of orders go on that have stopped, %s of their own', async (_, brake) => {
    const module = await hosting(world.ownerUrl, [EndsOwnPayments], 'lastcall', brake);
    await module.init();
    const timeouts = module.get<Timeouts>(getTimeoutsToken());
    const engage = `INSERT INTO timeout_brakes (cause, kind, due, waiting) VALUES ('x', $1, 1, 1)`;
    const by = { actor: 'olga', reason: 'mail is up' };
    // A first sweep without a brake releases what an earlier one with it has left on.
    await until('it has swept', async () => (await world.rows('SELECT FROM workers')).length > 0);
    await world.rows(engage, ['payment']);
    expect(await timeouts.stopped()).toBeUndefined();
    expect(await timeouts.resume(by)).toBe(false);
    await world.rows(engage, ['shop.payment']);
    expect(await timeouts.stopped()).toMatchObject({ kind: 'shop.payment' });
    expect(await timeouts.resume(by)).toBe(true);
    const on = await world.rows('SELECT kind FROM timeout_brakes WHERE released_at IS NULL');
    expect(on).toEqual([{ kind: 'payment' }]);
    await world.rows('DELETE FROM timeout_brakes');
    await module.close();
  });

  it('are alone among those that are held, and released', async () => {
    const module = await hosting(world.ownerUrl, [EndsOwnPayments]);
    await module.init();
    const timeouts = module.get<Timeouts>(getTimeoutsToken());
    await world.rows(
      `INSERT INTO held_deadlines (kind, subject_id, due_at, version, failures, error)
       VALUES ('payment', gen_random_uuid(), now(), 1, 8, 'Error: no')`,
    );
    const [order] = await world.rows<{ id: string }>('SELECT subject_id AS id FROM held_deadlines');
    expect(await timeouts.held()).toEqual([]);
    expect(await timeouts.held({ kind: 'payment' })).toEqual([]);
    expect(await timeouts.release({ kind: 'payment', subjectId: String(order?.id) })).toBe(0);
    expect(await world.rows('DELETE FROM held_deadlines RETURNING kind')).toHaveLength(1);
    await module.close();
  });

  it.each(KINDS_OF_ORDERS)('are not armed by the kind %s', async (kind) => {
    const module = await hosting(world.ownerUrl, [EndsOwnPayments]);
    await module.init();
    const timeouts = module.get<Timeouts>(getTimeoutsToken());
    const both = [deadline('shop.payment'), deadline(kind)];
    await expect(timeouts.arm(fromPg(pool), both)).rejects.toThrow(`of kind "${kind}"`);
    expect(await world.rows('SELECT FROM timeout_subjects')).toEqual([]);
    await module.close();
  });

  it('are not armed by a query that gives such a kind', async () => {
    const query = `SELECT 'refund', 'rma-' || i, now() FROM generate_series(1, 3) AS i`;
    const arming = armFromQuery({ url: world.ownerUrl, query, batch: 10 });
    await expect(arming).rejects.toMatchObject({
      ...{ code: 'invalid_query', message: expect.stringContaining('of kind "refund"') as string },
    });
    expect(await world.rows('SELECT FROM timeout_subjects')).toEqual([]);
  });

  it('have whatever kinds they like in a schema of their own, and where there are no orders', async () => {
    const alone = await createTestDatabase();
    for (const [url, schema] of [
      [alone.url, 'lastcall'],
      [world.ownerUrl, 'shop_timeouts'],
    ] as const) {
      const module = await hosting(url, [EndsPayments], schema);
      await module.init();
      const own = new Pool({ connectionString: url });
      const timeouts = module.get<Timeouts>(getTimeoutsToken());
      await timeouts.arm(fromPg(own), deadline('payment'));
      expect(await timeouts.list({ kind: 'payment' })).toHaveLength(1);
      await own.end();
      await module.close();
    }
    await alone.drop();
  });
});
