import { Flags } from '@oclif/core';
import type { RefundEntry } from '@app/orders';
import { idArg } from '../../filters';
import { ACCOUNTABILITY, OpsCommand, REHEARSAL } from '../../ops-command';
import { facts } from '../../text/table';
import { moneyText } from '../../text/wording';

export interface RefundSettled {
  readonly dryRun: boolean;
  readonly as: 'done';
  readonly refund: RefundEntry;
  /** What was owed of it, where others have taken the rest of the money. */
  readonly rest?: RefundEntry | undefined;
}

export default class RefundsSettle extends OpsCommand {
  static override summary = 'End a refund whose money went back by another way than its provider';
  static override description =
    'As by bank transfer, where the provider will never take it: nothing is sent any more. Name the transfer in the ' +
    'reason. Where an attempt is under way, have the provider fail it first: one that it makes after all is money ' +
    'that went back twice, which is an alert. Where a dispute or the dashboard has taken a part of the money, say by ' +
    '--amount what was sent: what is still owed, which the refusal tells. What was made by hand in its dashboard needs no command: its notice, ' +
    'or reconciling, ends the refund.';
  static override examples = [
    '<%= config.bin %> refunds settle 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --as done --reason "bank transfer 4711" --dry-run',
    '<%= config.bin %> refunds settle 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --as done --amount 400 --reason "bank transfer 4711"',
  ];
  static override args = { id: idArg('a refund') };
  static override flags = {
    ...ACCOUNTABILITY,
    as: Flags.option({
      description: 'how it ends: done (its money is back by another way)',
      options: ['done'] as const,
      required: true,
    })(),
    amount: Flags.integer({
      description: 'what was sent, in minor units, where others have taken a part of the money',
      min: 1,
    }),
    ...REHEARSAL,
  };

  async run(): Promise<RefundSettled> {
    const { args, flags } = await this.parse(RefundsSettle);
    const { actor, reason, as, amount } = flags;
    const { finishRefund } = await this.installation();
    return this.carryOut(flags, {
      act: async (dryRun) => {
        const run = { actor, reason, dryRun, amount };
        const { refund, rest } = await finishRefund.finish(args.id, run);
        return { as, refund, rest };
      },
      describe,
      verdict: (plan, mood) => `Refund ${plan.refund.id} ${mood} be over: ${howOver(plan)}`,
      word: as,
      done: (settled) => `Refund ${settled.refund.id} is over: ${howOver(settled)}`,
      next: ({ refund }) => `lastcall orders show ${refund.orderId}`,
    });
  }
}

type Ended = Pick<RefundSettled, 'refund' | 'rest'>;

const howOver = ({ refund, rest }: Ended): string =>
  rest
    ? `${refund.status}, and ${moneyText(rest.amount, rest.currency)} of it count as sent`
    : refund.status;

function describe({ refund }: Ended): string {
  const { amount, currency, orderId, reason, attempt } = refund;
  return facts([
    ['money', moneyText(amount, currency)],
    ['order', orderId],
    ['owed for', reason],
    ['attempts', String(attempt - 1)],
  ]);
}
