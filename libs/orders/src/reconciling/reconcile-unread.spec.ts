import { insertOrders } from '../../../../test/support/insert-orders';
import { LedgerProvider } from '../../../../test/support/ledger-provider';
import { paidUnheard, type Payable } from '../../../../test/support/paid-order';
import { openWorld, type World } from '../../../../test/support/world';
import { readOrders } from '../order/order-rows';
import { uuidv7 } from '../order/uuid';
import { Reconcile, type ReconcileRequest } from './reconcile';
import { ReconcileRuns } from './reconcile-runs';

const OLGA = { actor: 'olga', reason: 'case 9' };
let world: World;
let sandbox: LedgerProvider;
let pear: LedgerProvider;
let begun: string;
beforeEach(async () => {
  [sandbox, pear] = [new LedgerProvider(), new LedgerProvider('pear')];
  world = await openWorld({ providers: [sandbox, pear] });
  sandbox.ledgerPage = 2;
});
afterEach(() => world.close());

const run = (options: Partial<ReconcileRequest> = {}) =>
  world.get(Reconcile).run({
    since: new Date(Date.now() - 3_600_000),
    fixFor: OLGA,
    onBegun: (id) => (begun = id),
    onDifference: () => undefined,
    ...options,
  });

/** As {@link paidUnheard}, at the second provider. */
async function paidAtPear(): Promise<Payable> {
  const wanted = { count: 1, closesInMs: 60_000, payment: 'open', provider: 'pear' } as const;
  const [order] = (await insertOrders(world, wanted)) as [Payable];
  pear.open({ ...order, currency: 'EUR' });
  pear.pay(order.paymentId, new Date());
  return order;
}

const statusesOf = async (orders: readonly Payable[]) => {
  const read = await readOrders(
    world,
    orders.map(({ id }) => id),
  );
  return orders.map(({ id }) => read.get(id)?.status);
};

/** Its ledger cannot be read from this page on, the first one being 1. Answers with how many were asked for. */
function failsFrom(provider: LedgerProvider, page: number): () => number {
  let asked = 0;
  provider.around = async (call) => {
    if (call === 'ledger' && ++asked >= page) throw new Error(`${provider.name} is away`);
  };
  return () => asked;
}

describe('a comparison where the ledger of one provider cannot be read', () => {
  it('goes on with the next one, and behind its last page once it can be read', async () => {
    const orders: Payable[] = [];
    for (let i = 0; i < 3; i++) orders.push(await paidUnheard(world));
    orders.push(await paidAtPear());
    failsFrom(sandbox, 2);
    await expect(run()).rejects.toMatchObject({
      ...{ code: 'provider_error', fields: { providers: ['sandbox'] } },
      message: 'The ledger of sandbox could not be read: sandbox is away',
    });
    expect(await statusesOf(orders)).toEqual(['paid', 'paid', 'pending_payment', 'paid']);
    const unfinished = await world.rows('SELECT FROM reconcile_runs WHERE finished_at IS NULL');
    expect(unfinished).toHaveLength(1);
    const [ofSandbox, ofPear] = [failsFrom(sandbox, 9), failsFrom(pear, 9)];
    expect(await run({ resume: begun })).toMatchObject({ checked: 4, differences: 4, fixed: 4 });
    expect(await statusesOf(orders)).toEqual(['paid', 'paid', 'paid', 'paid']);
    expect([ofSandbox(), ofPear()]).toEqual([1, 0]);
  });

  it('names all of them, and tells none of its payments as ours only', async () => {
    const orders = [await paidUnheard(world), await paidAtPear()];
    expect(await run()).toMatchObject({ differences: 2, fixed: 2 });
    await world.rows(`UPDATE payments SET created_at = now() - interval '5 minutes'`);
    for (const provider of [sandbox, pear]) failsFrom(provider, 1);
    await expect(run()).rejects.toMatchObject({
      message: 'The ledgers of sandbox and pear could not be read: sandbox is away',
    });
    failsFrom(sandbox, 9);
    await expect(run({ resume: begun })).rejects.toMatchObject({ fields: { providers: ['pear'] } });
    failsFrom(pear, 9);
    expect(await run({ resume: begun })).toMatchObject({ checked: 2, differences: 0 });
    expect(await statusesOf(orders)).toEqual(['paid', 'paid']);
  });

  it('stops all the same as its caller fails, or is told to', async () => {
    await paidUnheard(world);
    await paidAtPear();
    const asked = failsFrom(pear, 9);
    const onDifference = (): void => {
      throw new Error('nobody listens');
    };
    await expect(run({ onDifference })).rejects.toThrow('nobody listens');
    const interruption = new AbortController();
    sandbox.around = async () => {
      interruption.abort();
      throw new Error('sandbox is away');
    };
    await run({ signal: interruption.signal });
    expect(asked()).toBe(0);
  });
});

describe('a night in which the ledger of one provider cannot be read', () => {
  const tonight = (signal?: AbortSignal) => world.get(Reconcile).runOnce(signal);
  /** No two nights are a day apart to the second. */
  const nightPasses = (howLong: string) =>
    world.rows('UPDATE reconcile_runs SET started_at = started_at - $1::interval', [howLong]);
  /** Of which we have never heard: nothing is safe to do. */
  function strangerPays(): void {
    const paymentId = uuidv7();
    pear.open({ paymentId, amount: 1_000, currency: 'EUR' });
    pear.pay(paymentId, new Date());
  }

  it('calls for what the others have left open, and lets it be closed', async () => {
    strangerPays();
    failsFrom(sandbox, 1);
    await expect(tonight()).rejects.toMatchObject({ fields: { providers: ['sandbox'] } });
    expect(world.told).toContainEqual({
      name: 'alert',
      args: ['reconcile_differences', expect.objectContaining({ differences: 1, open: 1 })],
    });
    const closed = await world.get(ReconcileRuns).close(undefined, OLGA);
    expect(closed).toMatchObject({ differences: 1 });
  });

  it('keeps no later night from comparing the others', async () => {
    failsFrom(sandbox, 1);
    await expect(tonight()).rejects.toMatchObject({ fields: { providers: ['sandbox'] } });
    await nightPasses('23:59:59');
    strangerPays();
    const paid = await paidAtPear();
    await expect(tonight()).rejects.toMatchObject({ fields: { providers: ['sandbox'] } });
    expect(await statusesOf([paid])).toEqual(['paid']);
  });

  it('goes on the next night with a long ledger that it was interrupted in', async () => {
    for (let i = 0; i < 5; i++) await paidUnheard(world);
    const interruption = new AbortController();
    let pages = 0;
    sandbox.around = async (call) => {
      if (call === 'ledger' && ++pages === 2) interruption.abort();
    };
    const first = await tonight(interruption.signal);
    await nightPasses('24:00:01');
    const asked = failsFrom(sandbox, 9);
    expect(await tonight()).toMatchObject({ runId: first?.runId, differences: 5, fixed: 5 });
    expect(asked()).toBe(2);
  });
});
