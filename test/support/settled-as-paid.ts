import type { CliWorld } from './cli-world';
import { insertOrders } from './insert-orders';
import { lastcallJson } from './lastcall';

/** An order whose payment an operator has settled as paid: its money is in the books, at no provider's word. */
export async function settledAsPaid(world: CliWorld, quantity = 1): Promise<string> {
  const options = { count: 1, closesInMs: 600_000, payment: 'open', quantity } as const;
  const [order] = await insertOrders(world.sql, options);
  const id = order?.id as string;
  for (const command of [['force-close'], ['settle', '--paid', '--yes']]) {
    const args = ['orders', ...command, id, '--reason', 'paid by hand'];
    const { code, result } = await lastcallJson(world.config, args);
    if (code !== 0) throw new Error(`${args.join(' ')}: ${JSON.stringify(result)}`);
  }
  return id;
}
