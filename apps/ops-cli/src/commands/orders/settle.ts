import { Flags } from '@oclif/core';
import type { SettledOrder } from '@app/orders';
import { idArg, parseId } from '../../filters';
import { ACCOUNTABILITY, OpsCommand, REHEARSAL } from '../../ops-command';

export interface SettleOrderOutcome extends SettledOrder {
  readonly dryRun: boolean;
}

const OUTCOMES = ['closed', 'paid'] as const;
const ONE_OF_THREE = ['as', ...OUTCOMES];

export default class OrdersSettle extends OpsCommand {
  static override summary = 'End the wait of an order for a provider that will never answer';
  static override description =
    'Look at the provider first, and say what became of the payment there. Of an order that is paid, as by another ' +
    'payment, or over, --closed ends what is still open, and the order stays what it is. Money that shows up ' +
    'later is handled as all late money is.';
  static override examples = [
    '<%= config.bin %> orders settle 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --closed --reason "provider closed down, no capture" --dry-run',
    '<%= config.bin %> orders settle 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --paid --reason "capture seen in the dashboard, case 17"',
  ];
  static override args = { id: idArg('an order') };
  static override flags = {
    ...ACCOUNTABILITY,
    as: Flags.option({
      description: 'what became of it: --as closed is --closed, --as paid is --paid',
      options: OUTCOMES,
      exactlyOne: ONE_OF_THREE,
    })(),
    closed: Flags.boolean({ description: 'nothing was taken', exactlyOne: ONE_OF_THREE }),
    paid: Flags.boolean({
      description: 'its open payment took all that was asked for',
      exactlyOne: ONE_OF_THREE,
    }),
    payment: Flags.string({
      description: 'with --paid: which payment that was, where several are open',
      helpValue: 'PAYMENT',
      exclusive: ['closed'],
      parse: (text) => parseId(text, 'a payment'),
    }),
    ...REHEARSAL,
  };

  async run(): Promise<SettleOrderOutcome> {
    const { args, flags } = await this.parse(OrdersSettle);
    const { actor, reason, payment: paymentId } = flags;
    const as = flags.as ?? (flags.paid ? 'paid' : 'closed');
    const { settleOrder } = await this.installation();
    return this.carryOut(flags, {
      act: (dryRun) => settleOrder.settle(args.id, { actor, reason, as, paymentId, dryRun }),
      verdict: ({ becomes }, mood) => `Order ${args.id} ${mood} ${endOf(as, becomes)}`,
      word: as,
      done: ({ order }) => `Order ${args.id} is ${order.status}`,
      next: () => `lastcall orders show ${args.id}`,
    });
  }
}

function endOf(as: string, { status, closeReason }: SettledOrder['becomes']): string {
  if (status === as) return `be ${as}`;
  return as === 'paid'
    ? `be paid, and ${status} at once (${closeReason})`
    : `stay ${status}, and its open payments be ended`;
}
