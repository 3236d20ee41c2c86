import { randomUUID } from 'node:crypto';
import { insertProduct } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { runInvariants } from '../invariants/run-invariants';
import { PlaceOrder } from './place-order';

const PROCESSES = 3;
const CUSTOMERS = 40;
const ORDERS = 6;
const PRODUCTS = 100;
const MOST_LINES = 12;

let worlds: World[];
beforeAll(async () => {
  const first = await openWorld();
  worlds = [first];
  while (worlds.length < PROCESSES) worlds.push(await openWorld({ beside: first }));
  for (let n = 0; n < PRODUCTS; n++) await insertProduct(first, `P-${n}`, 1_000_000);
  // A disk that takes its time: a group commits with its products locked.
  await first.owner.rows(`CREATE FUNCTION take_time() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_sleep(0.04); RETURN NULL; END $$`);
  await first.owner.rows(`CREATE TABLE commits (id bigint GENERATED ALWAYS AS IDENTITY)`);
  await first.owner.rows(`GRANT ALL ON commits TO PUBLIC`);
  await first.owner.rows(`CREATE FUNCTION write_commit() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO commits DEFAULT VALUES; RETURN NULL; END $$`);
  await first.owner.rows(`CREATE TRIGGER write_commit AFTER INSERT ON orders
    FOR EACH STATEMENT EXECUTE FUNCTION write_commit()`);
  await first.owner.rows(`CREATE CONSTRAINT TRIGGER take_time AFTER INSERT ON commits
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION take_time()`);
});
afterAll(async () => {
  for (const world of [...worlds].reverse()) await world.close();
});

/** Each line another product, of those that others want as well. */
function lines(nth: number): { sku: string; quantity: number }[] {
  const count = 1 + (nth % MOST_LINES);
  return Array.from({ length: count }, (_, line) => {
    return { sku: `P-${(nth * 37 + line * 17) % PRODUCTS}`, quantity: 1 };
  });
}

it('refuses nobody for what groups of other processes have, on a slow disk', async () => {
  let refused = 0;
  let placed = 0;
  const buy = async (world: World, customer: number): Promise<void> => {
    for (let n = 0; n < ORDERS; n++) {
      const command = {
        customerId: randomUUID(),
        idempotencyKey: randomUUID(),
        items: lines(customer * ORDERS + n),
      };
      await world
        .get(PlaceOrder)
        .place(command)
        .then(
          () => (placed += 1),
          (error: unknown) => {
            expect(error).toMatchObject({ code: 'busy' });
            refused += 1;
          },
        );
    }
  };
  await Promise.all(
    worlds.flatMap((world, nth) =>
      Array.from({ length: CUSTOMERS }, (_, n) => buy(world, nth * CUSTOMERS + n)),
    ),
  );
  expect({ refused, placed }).toEqual({ refused: 0, placed: PROCESSES * CUSTOMERS * ORDERS });
  const [first] = worlds as [World];
  const results = await runInvariants(first, { limitMs: 3_600_000, newest: 'all' });
  expect(results.filter(({ violations }) => violations > 0)).toEqual([]);
});
