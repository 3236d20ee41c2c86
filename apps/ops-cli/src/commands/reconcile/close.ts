import type { ClosedRun } from '@app/orders';
import { optionalIdArg } from '../../filters';
import { ACCOUNTABILITY, OpsCommand } from '../../ops-command';
import { countText } from '../../text/wording';

export default class ReconcileClose extends OpsCommand {
  static override summary = 'Be done with the differences that a comparison has left';
  static override description =
    'The same differences are told of no more, by the nightly run and its alert; one that changes ' +
    'is a new one. Follow each of them in both books before.';
  static override examples = [
    '<%= config.bin %> reconcile close --reason "payments of the old shop, case 21"',
  ];
  static override args = {
    id: optionalIdArg('a run; default: the newest that has ended, or has left some'),
  };
  static override flags = { ...ACCOUNTABILITY };

  async run(): Promise<ClosedRun> {
    const { args, flags } = await this.parse(ReconcileClose);
    const { reconcileRuns } = await this.installation();
    const closed = await reconcileRuns.close(args.id, flags);
    this.log(`${countText(closed.differences, 'difference')} of run ${closed.id} closed`);
    return closed;
  }
}
