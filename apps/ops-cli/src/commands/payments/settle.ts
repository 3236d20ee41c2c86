import { Flags } from '@oclif/core';
import type { SettledPayment } from '@app/orders';
import { confirmTyped } from '../../confirm';
import { idArg } from '../../filters';
import { ACCOUNTABILITY, OpsCommand } from '../../ops-command';
import { facts } from '../../text/table';
import { moneyText } from '../../text/wording';

export interface SettleOutcome extends SettledPayment {
  readonly dryRun: boolean;
}

const ONE_OF_TWO = ['refund', 'keep'];

export default class PaymentsSettle extends OpsCommand {
  static override summary = 'Decide about money on hold: it goes back, or it stays';
  static override description =
    'Look at the order and at the provider first. The order stays as it is: money that is kept ' +
    'pays nothing. A refund goes the way of all refunds, made by a worker.';
  static override examples = [
    '<%= config.bin %> payments settle 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --refund --reason "paid too little" --dry-run',
    '<%= config.bin %> payments settle 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --keep --reason "shipped by hand, case 17"',
  ];
  static override args = { id: idArg('a payment') };
  static override flags = {
    ...ACCOUNTABILITY,
    refund: Flags.boolean({ description: 'send all of it back', exactlyOne: ONE_OF_TWO }),
    keep: Flags.boolean({ description: 'leave it with the shop', exactlyOne: ONE_OF_TWO }),
    'dry-run': Flags.boolean({ description: 'run the real transaction and roll it back' }),
    yes: Flags.boolean({ char: 'y', description: 'do not ask' }),
  };

  async run(): Promise<SettleOutcome> {
    const { args, flags } = await this.parse(PaymentsSettle);
    const { actor, reason, 'dry-run': dryRun } = flags;
    const decision = flags.refund ? 'refund' : 'keep';
    const { settlePayment } = await this.installation();
    const plan = await settlePayment.settle(args.id, decision, { actor, reason, dryRun: true });
    this.note(describe(plan));
    if (dryRun) {
      this.log(`${verdict(plan, 'would')} (dry run: nothing was changed)`);
      return { dryRun, ...plan };
    }
    if (!flags.yes) await confirmTyped(verdict(plan, 'will'), decision);
    const settled = await settlePayment.settle(args.id, decision, { actor, reason });
    this.log(verdict(settled, 'will'));
    this.note(`Next: lastcall orders show ${settled.payment.orderId}`);
    return { dryRun, ...settled };
  }
}

function describe({ payment }: SettledPayment): string {
  return facts([
    ['on hold for', payment.holdReason],
    ['asked for', moneyText(payment.amount, payment.currency)],
    ['taken', moneyText(payment.capturedAmount, payment.capturedCurrency)],
    ['order', `${payment.orderId}, ${payment.orderStatus}`],
  ]);
}

function verdict({ decision, payment }: SettledPayment, mood: 'will' | 'would'): string {
  const money = moneyText(payment.capturedAmount, payment.capturedCurrency);
  return decision === 'refund' ? `${money} ${mood} go back` : `${money} ${mood} stay with the shop`;
}
