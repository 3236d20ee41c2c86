import { Flags } from '@oclif/core';
import type { SettledPayment } from '@app/orders';
import { idArg } from '../../filters';
import { ACCOUNTABILITY, OpsCommand, REHEARSAL } from '../../ops-command';
import { facts } from '../../text/table';
import { moneyText } from '../../text/wording';

export interface SettleOutcome extends SettledPayment {
  readonly dryRun: boolean;
}

const DECISIONS = ['refund', 'keep', 'accept', 'correct'] as const;
const ONE_OF_THESE = ['as', ...DECISIONS];

export default class PaymentsSettle extends OpsCommand {
  static override summary = 'Decide about money on hold: it goes back, or it stays';
  static override description =
    'Look at the order and at the provider first. Money that is kept pays nothing, money that is ' +
    'accepted pays its order. A refund goes the way of all refunds, made by a worker.';
  static override examples = [
    '<%= config.bin %> payments settle 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --refund --reason "paid too little" --dry-run',
    '<%= config.bin %> payments settle 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --keep --reason "shipped by hand, case 17"',
  ];
  static override args = { id: idArg('a payment') };
  static override flags = {
    ...ACCOUNTABILITY,
    as: Flags.option({
      description: 'the decision: --as refund is --refund, and so on',
      options: DECISIONS,
      exactlyOne: ONE_OF_THESE,
    })(),
    refund: Flags.boolean({
      description: 'send back all that is left of it',
      exactlyOne: ONE_OF_THESE,
    }),
    keep: Flags.boolean({ description: 'leave it with the shop', exactlyOne: ONE_OF_THESE }),
    accept: Flags.boolean({
      description: 'it came late: reopen its order as paid, where its stock can be had',
      exactlyOne: ONE_OF_THESE,
    }),
    correct: Flags.boolean({
      description:
        'what its provider has told last is what was taken; its order stays as it is, and so does money that was on hold before',
      exactlyOne: ONE_OF_THESE,
    }),
    ...REHEARSAL,
  };

  async run(): Promise<SettleOutcome> {
    const { args, flags } = await this.parse(PaymentsSettle);
    const { actor, reason } = flags;
    const decision = flags.as ?? DECISIONS.find((one) => flags[one]) ?? 'keep';
    const { settlePayment } = await this.installation();
    // What the rehearsal has shown counts as taken, however long it is looked at.
    let seen: number | undefined;
    return this.carryOut(flags, {
      act: async (dryRun) => {
        const run = { actor, reason, dryRun, seen };
        const settled = await settlePayment.settle(args.id, decision, run);
        seen = settled.correctedAmount;
        return settled;
      },
      describe,
      verdict,
      word: decision,
      done: (settled) => verdict(settled, 'will'),
      next: ({ payment }) => `lastcall orders show ${payment.orderId}`,
    });
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

const NOTHING_LEFT =
  'nothing of it is left: it has gone back, or is going, or a dispute has it; what comes back of that goes out again';

function verdict(
  { decision, payment, refundAmount, correctedAmount }: SettledPayment,
  mood: 'will' | 'would',
): string {
  const { capturedAmount, capturedCurrency } = payment;
  const money = moneyText(capturedAmount, capturedCurrency);
  if (decision === 'accept') return `${money} ${mood} pay order ${payment.orderId}`;
  if (correctedAmount !== undefined) {
    const corrected = moneyText(correctedAmount, capturedCurrency);
    const waits = payment.holdReason === 'capture_changed' ? '' : '; refund or keep it after that';
    return `${corrected} ${mood} count as taken, instead of ${money}${waits}`;
  }
  if (decision === 'keep') return `${money} ${mood} stay with the shop`;
  return refundAmount === 0
    ? NOTHING_LEFT
    : `${moneyText(refundAmount, capturedCurrency)} ${mood} go back`;
}
