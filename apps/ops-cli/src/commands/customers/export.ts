import { Args } from '@oclif/core';
import type { CustomerExport } from '@app/orders';
import { OpsCommand } from '../../ops-command';
import { printableJson } from '../../text/printable';

export default class CustomersExport extends OpsCommand {
  static override purpose = 'look' as const;
  static override summary = 'What is kept of a customer, as JSON';
  static override description =
    'What docs/privacy.md says, and what the customer is called in the logs. Changes nothing.';
  static override examples = ['<%= config.bin %> customers export alice > alice.json'];
  static override args = {
    sub: Args.string({
      ignoreStdin: true,
      name: 'SUB',
      description: "subject of the customer's tokens",
      required: true,
    }),
  };

  async run(): Promise<CustomerExport> {
    const { args } = await this.parse(CustomersExport);
    const { exportCustomer } = await this.installation();
    const exported = await exportCustomer.export(args.sub);
    this.log(printableJson(exported, 2));
    return exported;
  }
}
