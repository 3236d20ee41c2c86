import { Args } from '@oclif/core';
import type { ErasedCustomer } from '@app/orders';
import { ACCOUNTABILITY, OpsCommand, REHEARSAL } from '../../ops-command';
import { countText } from '../../text/wording';

export default class CustomersErase extends OpsCommand {
  static override summary = "Put a pseudonym in the place of a customer's name, everywhere";
  static override description =
    'Orders, money and stock stay as they are, and the seals of the history hold. What operators wrote ' +
    "about the customer's orders goes as well. Refused while an order is not over. Cannot be undone.";
  static override examples = [
    '<%= config.bin %> customers erase alice --reason "request 2026-17" --dry-run',
  ];
  static override args = {
    sub: Args.string({
      ignoreStdin: true,
      name: 'SUB',
      description: "subject of the customer's tokens",
      required: true,
    }),
  };
  static override flags = { ...ACCOUNTABILITY, ...REHEARSAL };

  async run(): Promise<ErasedCustomer & { readonly dryRun: boolean }> {
    const { args, flags } = await this.parse(CustomersErase);
    const { actor, reason } = flags;
    const { eraseCustomer } = await this.installation();
    const what = ({ orders, events }: ErasedCustomer): string =>
      `the customer's name in ${countText(orders, 'order')} and ${countText(events, 'event')}`;
    return this.carryOut(flags, {
      act: (dryRun) => eraseCustomer.erase(args.sub, { actor, reason, dryRun }),
      verdict: (plan, mood) => `${what(plan)} ${mood} be erased`,
      word: 'erase',
      done: (erased) => `Erased ${what(erased)}: it is ${erased.pseudonym} now`,
      next: () => 'lastcall doctor',
    });
  }
}
