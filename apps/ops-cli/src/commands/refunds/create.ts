import { Flags } from '@oclif/core';
import type { CreatedRefund } from '@app/orders';
import { usageFailure } from '../../command-failure';
import { idArg } from '../../filters';
import { keyFlag, readKey } from '../../idempotency-key';
import { ACCOUNTABILITY, OpsCommand, REHEARSAL } from '../../ops-command';
import { moneyText } from '../../text/wording';

export interface CreateRefundOutcome extends CreatedRefund {
  readonly dryRun: boolean;
}

export default class RefundsCreate extends OpsCommand {
  static override summary = "Send a part of an order's money back, or all of it";
  static override description =
    'Never more than the order still holds. An order that is not shipped is canceled when nothing ' +
    'is left; its stock goes back.';
  static override examples = [
    '<%= config.bin %> refunds create 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --amount 500 --reason "one cup was broken" --dry-run',
    '<%= config.bin %> refunds create 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --amount 1200 --restock TEA-SENCHA=2 --reason "sent back unopened"',
  ];
  static override args = { id: idArg('an order') };
  static override flags = {
    ...ACCOUNTABILITY,
    amount: Flags.integer({
      description: "in minor units of the order's currency",
      min: 1,
      required: true,
    }),
    restock: Flags.string({
      description: 'what came back and can be sold again; may be given for several products',
      helpValue: 'SKU=QUANTITY',
      multiple: true,
    }),
    'idempotency-key': keyFlag('refund'),
    ...REHEARSAL,
  };

  async run(): Promise<CreateRefundOutcome> {
    const { args, flags } = await this.parse(RefundsCreate);
    const { actor, reason, amount } = flags;
    const restock = (flags.restock ?? []).map(parseLine);
    const idempotencyKey = readKey(flags['idempotency-key']);
    const installation = await this.installation();
    this.wayOn = { idempotencyKey };
    const what = ({ order }: CreatedRefund): string =>
      `${moneyText(amount, order.currency)} of order ${args.id}`;
    return this.carryOut(flags, {
      act: (dryRun) =>
        installation.refund(args.id, { actor, reason, amount, restock, dryRun, idempotencyKey }),
      verdict: (plan, mood) =>
        plan.replayed
          ? `${what(plan)} was requested before, by this key: nothing more ${mood} go back`
          : `${what(plan)} ${mood} go back`,
      word: 'refund',
      done: (created) =>
        `${what(created)} ${created.replayed ? 'was requested before' : 'will go back'}; the order is ${created.order.status}`,
      next: () => `lastcall orders show ${args.id}`,
    });
  }
}

function parseLine(text: string): { sku: string; quantity: number } {
  const [, sku = '', quantity = ''] = /^([^=]+)=(\d{1,6})$/.exec(text) ?? [];
  if (Number(quantity) > 0) return { sku, quantity: Number(quantity) };
  throw usageFailure(`"${text}" is not what came back: give SKU=QUANTITY, such as TEA-SENCHA=2`);
}
