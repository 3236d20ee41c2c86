// Runs in a copy of the sources to which new-kind.ts has added a kind of deadline: lives an
// order's whole life there, and prints what became of it as JSON. argv: the new kind.
import { ConfirmReceipt, PlaceOrder, runInvariants, ShipOrder, VerifyDeadlines } from '@app/orders';
import { insertProduct } from '../support/insert-orders';
import { openWorld, type World } from '../support/world';

const [kind = ''] = process.argv.slice(2);
const BY_HAND = { actor: 'eve', reason: 'to see it come back' };

async function main(): Promise<void> {
  const world = await openWorld({ settings: { THANKS_TEXT: 'Thank you for your order' } });
  try {
    console.log(JSON.stringify(await live(world)));
  } finally {
    await world.close();
  }
}

async function live(world: World): Promise<object> {
  await world.rows(`
    CREATE TABLE thanks (order_id uuid PRIMARY KEY, text text NOT NULL);
    GRANT SELECT, INSERT ON thanks TO lastcall_app`);
  const orderId = await complete(world);
  const armed = await kindsOf(world, orderId);
  await world.rows('DELETE FROM deadlines WHERE kind = $1', [kind]);
  const lost = { ...(await missing(world)), violated: await violated(world) };
  await new VerifyDeadlines(world.dataSource).run({ fixFor: BY_HAND });
  const armedAgain = await kindsOf(world, orderId);
  await world.timeouts.runSweep();
  const early = await world.rows('SELECT text FROM thanks');
  await aMonthPasses(world);
  await world.timeouts.runSweep();
  return {
    armed,
    lost,
    armedAgain,
    early,
    late: await world.rows('SELECT text FROM thanks'),
    afterwards: { ...(await missing(world)), violated: await violated(world) },
  };
}

/** A free order, shipped and received: nothing of it but the new deadline is left to wait for. */
async function complete(world: World): Promise<string> {
  await insertProduct(world, 'FREE');
  await world.rows('UPDATE products SET unit_price = 0');
  const { order } = await world.get(PlaceOrder).place({
    customerId: 'ann',
    idempotencyKey: 'key',
    items: [{ sku: 'FREE', quantity: 1 }],
  });
  await world.get(ShipOrder).ship(order.id, 'eve');
  await world.get(ConfirmReceipt).confirm(order.id, 'ann');
  return order.id;
}

async function kindsOf(world: World, orderId: string): Promise<string[]> {
  const rows = await world.rows<{ kind: string }>(
    'SELECT kind FROM deadlines WHERE subject_id = $1 ORDER BY kind',
    [orderId],
  );
  return rows.map((row) => row.kind);
}

async function missing(world: World): Promise<{ missing: string[] }> {
  const report = await new VerifyDeadlines(world.dataSource).run();
  return { missing: report.missing.sample.map((one) => one.kind) };
}

async function violated(world: World): Promise<string[]> {
  const results = await runInvariants(world, { limitMs: 15_000, newest: 'all' });
  return results.filter(({ violations }) => violations > 0).map(({ name }) => name);
}

async function aMonthPasses(world: World): Promise<void> {
  await world.rows(
    `UPDATE orders SET paid_at = paid_at - interval '30 days',
       shipped_at = shipped_at - interval '30 days', completed_at = completed_at - interval '30 days'`,
  );
  await world.rows(`UPDATE deadlines SET due_at = due_at - interval '30 days'`);
}

void main();
