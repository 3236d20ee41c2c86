import { randomUUID } from 'node:crypto';
import type { HeldPayment } from '@app/orders';
import { runInvariants } from '../../../libs/orders/src/invariants/run-invariants';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { holdMoney } from '../../support/hold-money';
import { insertOrders } from '../../support/insert-orders';
import {
  CTRL_D,
  expectConventions,
  inFourWays,
  lastcall,
  lastcallJson,
  operatorNamed,
  plain,
} from '../../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

interface Settled {
  dryRun: boolean;
  decision: string;
  refundId: string | null;
  refundAmount: number;
  payment: HeldPayment;
}

describe('lastcall payments list and settle', () => {
  let world: CliWorld;

  beforeAll(async () => (world = await startCliWorld()));
  afterAll(() => world.close());

  /** Money that came to be on hold, for an order of 5.00 EUR that nobody has paid. */
  const held = async (holdReason: HeldPayment['holdReason'], amount: number): Promise<string> => {
    const options = { count: 1, closesInMs: 600_000, payment: 'open' } as const;
    const [order] = await insertOrders(world.sql, options);
    await holdMoney(world.sql, order?.paymentId, amount, holdReason);
    return order?.paymentId as string;
  };
  const settle = (id: string, ...flags: string[]) => {
    const accountable = ['--reason', 'case 17', '--actor', 'eve'];
    return lastcallJson<Settled>(world.config, [
      'payments',
      'settle',
      id,
      ...accountable,
      ...flags,
    ]);
  };
  const state = (id: string) =>
    world.sql.rows(
      `SELECT p.hold_reason, r.status, r.reason, r.amount, d.kind, a.action, a.actor,
              a.reason AS why
         FROM payments p LEFT JOIN refunds r ON r.payment_id = p.id
         LEFT JOIN deadlines d ON d.subject_id = r.id
         LEFT JOIN operator_actions a ON a.subject_id = p.id WHERE p.id = $1`,
      [id],
    );
  const none = { status: null, reason: null, amount: null, kind: null };
  const untouched = (holdReason: string) => [
    { ...none, hold_reason: holdReason, action: null, actor: null, why: null },
  ];
  const expectSound = async (): Promise<void> => {
    const results = await runInvariants(world.sql, { limitMs: 60_000, newest: 'all' });
    // Nobody relays here.
    expect(results.filter(({ id, violations }) => violations > 0 && id !== 12)).toEqual([]);
  };

  it('lists what is on hold, in all four ways', async () => {
    const id = await held('amount_mismatch', 499);
    const ways = await inFourWays(world.config, ['payments', 'list']);
    expectConventions(ways, 0);
    expect(ways.pipe.stdout).toMatch(new RegExp(`${id}  amount_mismatch +5.00 EUR +4.99 EUR`));
    const { items } = JSON.parse(ways.json.stdout) as { items: HeldPayment[] };
    expect(items).toMatchObject([{ id, capturedAmount: 499, orderStatus: 'pending_payment' }]);
  });

  it('sends money back, all that was taken, with a refund like the others and a record', async () => {
    const id = await held('amount_mismatch', 499);
    const { code, result } = await settle(id, '--refund', '--yes');
    expect({ code, result }).toMatchObject({ code: 0, result: { decision: 'refund' } });
    expect(result.refundId).not.toBeNull();
    expect(await state(id)).toEqual([
      {
        ...{ hold_reason: null, status: 'requested', reason: 'payment_mismatch', amount: '499' },
        ...{
          kind: 'refund',
          action: 'payment.refund',
          actor: operatorNamed('eve'),
          why: 'case 17',
        },
      },
    ]);
    await expectSound();
    expect((await settle(id, '--refund', '--yes')).code).toBe(4);
  });

  it('takes the decision by --as too, as the other commands that settle do', async () => {
    const id = await held('late_payment', 500);
    const rehearse = (...flags: string[]) => settle(id, '--dry-run', ...flags);
    for (const decision of ['refund', 'keep']) {
      const { code, result } = await rehearse('--as', decision);
      expect([code, result]).toMatchObject([0, { decision }]);
    }
    expect((await rehearse('--as', 'keep', '--refund')).code).toBe(2);
    expect((await rehearse()).code).toBe(2);
  });

  it('keeps money with the shop: the order stays as it is, and the books are sound', async () => {
    const id = await held('late_payment', 500);
    expect((await settle(id, '--keep', '--yes')).code).toBe(0);
    expect(await state(id)).toEqual([
      {
        ...none,
        hold_reason: null,
        action: 'payment.keep',
        actor: operatorNamed('eve'),
        why: 'case 17',
      },
    ]);
    await expectSound();
  });

  it('asks a person to type what is to be done', async () => {
    const id = await held('late_payment', 500);
    const args = ['payments', 'settle', id, '--refund', '--reason', 'case 17'];
    const typed = await lastcall(world.config, args, { tty: true, input: 'refund\n' });
    expect(typed.code).toBe(0);
    expect(plain(typed)).toMatch(
      /on hold for +late_payment[^]*taken +5\.00 EUR\n[^]*5\.00 EUR will go back\. Type refund to go on/,
    );
    expect(await state(id)).toMatchObject([{ status: 'requested', reason: 'late_payment' }]);
  });

  it.each([
    ['Ctrl-C', undefined, 130, 'Interrupted: nothing was changed'],
    ['Ctrl-D', CTRL_D, 8, 'Nothing was changed'],
  ])('changes nothing where the answer is %s', async (_, keys, exitCode, says) => {
    const id = await held('late_payment', 500);
    const args = ['payments', 'settle', id, '--refund', '--reason', 'case 17'];
    const interrupt = { when: /to go on: /, signal: 'SIGINT', ...(keys ? { keys } : {}) } as const;
    const { code, stdout } = await lastcall(world.config, args, { tty: true, interrupt });
    expect([code, stdout]).toEqual([exitCode, expect.stringContaining(says)]);
    expect(await state(id)).toEqual(untouched('late_payment'));
  });

  it('changes nothing in a dry run, nor without a confirmation', async () => {
    const id = await held('currency_mismatch', 500);
    const rehearsed = await settle(id, '--refund', '--dry-run');
    expect(rehearsed).toMatchObject({ code: 0, result: { dryRun: true, refundId: null } });
    expect((await settle(id, '--refund')).code).toBe(8);
    expect(await state(id)).toEqual(untouched('currency_mismatch'));
  });

  it.each([
    [200, 300, '3.00 EUR would go back', '3.00 EUR will go back'],
    [500, 0, 'nothing of it is left', 'nothing of it is left'],
  ])(
    'rehearses what is left of money of which %i has gone back by hand',
    async (gone, refundAmount, rehearsed, done) => {
      const id = await held('amount_mismatch', 500);
      await world.sql.rows(
        `INSERT INTO money_movements (order_id, payment_id, kind, ref, amount, currency, source)
         SELECT order_id, id, 'foreign_refund', 're-' || id, $2, 'EUR', 'webhook'
           FROM payments WHERE id = $1`,
        [id, gone],
      );
      const args = ['payments', 'settle', id, '--refund', '--reason', 'case 17'];
      const dry = await lastcall(world.config, [...args, '--dry-run']);
      expect(dry.stdout).toContain(rehearsed);
      expect((await settle(id, '--refund', '--dry-run')).result).toMatchObject({ refundAmount });
      const asked = await lastcall(world.config, args, { tty: true, input: 'refund\n' });
      expect(asked.stdout).toContain(done);
      expect(asked.stdout).not.toContain('5.00 EUR will go back');
      await expectSound();
    },
  );

  it('has what the provider has told last count as taken, rehearsed and done', async () => {
    const id = await held('capture_changed', 500);
    await world.sql.rows(
      `INSERT INTO money_movements (order_id, payment_id, kind, ref, amount, currency, source)
       SELECT order_id, id, 'mismatch', 'told 300 EUR', 300, 'EUR', 'webhook'
         FROM payments WHERE id = $1`,
      [id],
    );
    const args = ['payments', 'settle', id, '--correct', '--reason', 'case 17'];
    const dry = await lastcall(world.config, [...args, '--dry-run']);
    expect(dry.stdout).toContain('3.00 EUR would count as taken, instead of 5.00 EUR');
    const { result } = await settle(id, '--as', 'correct', '--yes');
    expect(result).toMatchObject({ decision: 'correct', correctedAmount: 300, refundId: null });
    expect((await settle(id, '--correct', '--yes')).code).toBe(4);
    expect(
      await world.sql.rows('SELECT captured_amount FROM payments WHERE id = $1', [id]),
    ).toEqual([{ captured_amount: '300' }]);
  });

  it('refuses what goes back already, what is not on hold and what is not there', async () => {
    const id = await held('capture_changed', 500);
    await world.sql.rows(
      `INSERT INTO refunds (id, payment_id, reason, amount, currency, status)
       VALUES (gen_random_uuid(), $1, 'late_payment', 500, 'EUR', 'succeeded')`,
      [id],
    );
    await world.sql.rows(
      `INSERT INTO money_movements (order_id, payment_id, kind, ref, amount, currency, source)
       SELECT order_id, id, kind, 'r1', 500, 'EUR', 'system'
         FROM payments, unnest('{refund_requested,refund_succeeded}'::text[]) AS k (kind)
        WHERE id = $1`,
      [id],
    );
    const again = await settle(id, '--refund', '--yes');
    expect(again).toMatchObject({ code: 4, result: { error: { code: 'payment_not_settleable' } } });
    expect((await settle(id, '--keep', '--yes')).code).toBe(0);
    expect((await settle(id, '--keep', '--yes')).code).toBe(4);
    expect((await settle(randomUUID(), '--keep', '--yes')).code).toBe(3);
    for (const flags of [[], ['--keep', '--refund']]) {
      expect((await settle(id, ...flags, '--yes')).code).toBe(2);
    }
  });
});
