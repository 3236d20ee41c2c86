import {
  FINAL_STATUSES,
  ORDER_STATUSES,
  type OrderStatus,
  stockEffect,
  TRANSITIONS,
} from './order.lifecycle';

const FINAL = [...FINAL_STATUSES];
const exits = (from: OrderStatus) => Object.keys(TRANSITIONS[from]) as OrderStatus[];

/** Where an order's stock is while it has a status. */
const STOCK: Record<OrderStatus, 'reserved' | 'sold' | 'free'> = {
  pending_payment: 'reserved',
  closing: 'reserved',
  paid: 'sold',
  shipped: 'sold',
  completed: 'sold',
  closed: 'free',
  canceled: 'free',
};
const EFFECTS = {
  none: (at: string) => at,
  release: (at: string) => (at === 'reserved' ? 'free' : 'wrong'),
  sell: (at: string) => (at === 'reserved' ? 'sold' : 'wrong'),
  restock: (at: string) => (at === 'sold' ? 'free' : 'wrong'),
};

describe('the lifecycle of an order', () => {
  it('reaches every status from pending_payment', () => {
    const reached = new Set<OrderStatus>(['pending_payment']);
    for (const status of reached) for (const next of exits(status)) reached.add(next);
    expect([...reached].sort()).toEqual([...ORDER_STATUSES].sort());
  });

  it('ends: from every status some final one can be reached', () => {
    for (const status of ORDER_STATUSES) {
      const reached = new Set<OrderStatus>([status]);
      for (const one of reached) for (const next of exits(one)) reached.add(next);
      expect([...reached].some((one) => FINAL.includes(one))).toBe(true);
    }
  });

  it('has no way out of a final status but the revival of a closed order', () => {
    expect(FINAL.flatMap((from) => exits(from).map((to) => `${from} -> ${to}`))).toEqual([
      'closed -> paid',
    ]);
  });

  it('moves stock along: reserved while open, sold once paid, free in the end', () => {
    for (const from of ORDER_STATUSES) {
      for (const to of exits(from)) {
        // A revival reserves again before it sells.
        const at = from === 'closed' ? 'reserved' : STOCK[from];
        const effect = stockEffect(from, to);
        expect([from, to, effect && EFFECTS[effect](at)]).toEqual([from, to, STOCK[to]]);
      }
    }
  });

  it('knows no other change', () => {
    expect(stockEffect('paid', 'closed')).toBeUndefined();
    expect(stockEffect('completed', 'paid')).toBeUndefined();
    expect(stockEffect('pending_payment', 'shipped')).toBeUndefined();
  });
});
