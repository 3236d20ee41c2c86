import type { RefundEntry } from '@app/orders';
import { idArg } from '../../filters';
import { ACCOUNTABILITY, OpsCommand } from '../../ops-command';

export default class RefundsRetry extends OpsCommand {
  static override summary = 'Try a refund again that needs attention';
  static override description =
    'The next attempt has a key of its own at the provider and is made by a worker. An attempt of ' +
    'which the provider has said no end is gone on with instead, by its own key. ' +
    'Make sure first that the money did not go back after all: the provider knows.';
  static override examples = [
    '<%= config.bin %> refunds retry 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --reason "card was unblocked"',
  ];
  static override args = { id: idArg('a refund') };
  static override flags = { ...ACCOUNTABILITY };

  async run(): Promise<RefundEntry> {
    const { args, flags } = await this.parse(RefundsRetry);
    const { retryRefund } = await this.installation();
    const refund = await retryRefund.retry(args.id, flags);
    this.log(`Refund ${refund.id} is ${refund.status} again, attempt ${refund.attempt}`);
    const does = refund.status === 'pending' ? 'asks the provider for' : 'sends';
    this.note(`A worker ${does} it now. Next: lastcall orders show ${refund.orderId}`);
    return refund;
  }
}
