import type { Difference, ReconcileCounts } from '@app/orders';
import { EXIT } from '../exit-code';
import { instant } from '../filters';
import { interruption } from '../interruption';
import { fixFlags, OpsCommand } from '../ops-command';
import { paint } from '../text/paint';
import { table } from '../text/table';
import { countText } from '../text/wording';

export interface ReconcileResult extends ReconcileCounts {
  readonly since: string;
  readonly interrupted: boolean;
  /** The first thousand; `differences` counts them all. */
  readonly found: readonly Difference[];
}

const KEPT = 1_000;

export default class ReconcileCommand extends OpsCommand {
  static override summary = "Compare our payments and refunds with the provider's ledger";
  static override description =
    'Ours only, theirs only, different. --fix settles what has one safe answer and tells of the ' +
    'rest. Exit code 7 when a difference is left.';
  static override examples = [
    '<%= config.bin %> reconcile --since 7d',
    '<%= config.bin %> reconcile --since 30d --fix --json',
  ];
  static override flags = {
    since: instant({ description: 'payments made since then', required: true }),
    ...fixFlags('settle what has one safe answer'),
  };

  async run(): Promise<ReconcileResult> {
    const { flags } = await this.parse(ReconcileCommand);
    const fixFor = this.fixFor(flags);
    const { reconcile, running } = await this.installation();
    if (fixFor) await this.refuseDifferences(running);
    const signal = interruption((line) => this.note(line));
    const found: Difference[] = [];
    const counts = await reconcile.run({
      since: flags.since,
      fixFor,
      signal,
      onDifference: (difference) => {
        if (found.length < KEPT) found.push(difference);
      },
    });
    const interrupted = signal.aborted;
    const result = { since: flags.since.toISOString(), ...counts, interrupted, found };
    this.log(describe(result));
    if (interrupted) this.endWith(EXIT.interrupted);
    else if (counts.differences > counts.fixed) this.endWith(EXIT.findings);
    if (!fixFor && found.some(({ fixable }) => fixable)) {
      this.note(`Next: lastcall reconcile --since ${result.since} --fix`);
    }
    return result;
  }
}

function describe({ checked, differences, fixed, found }: ReconcileResult): string {
  const summary = `${countText(checked, 'payment')} compared, ${countText(differences, 'difference')}, ${fixed} settled`;
  if (found.length === 0) return paint.good(summary);
  const rows = table(found, [
    { title: 'KIND', value: ({ kind }) => kind },
    { title: 'WHAT', value: ({ subject, what }) => `${subject} ${what}` },
    { title: 'OURS', value: ({ ours }) => ours },
    { title: 'THEIRS', value: ({ theirs }) => theirs },
    { title: 'ORDER', value: ({ orderId }) => orderId },
    { title: 'AT THE PROVIDER', value: ({ providerId }) => providerId },
    { title: '', value: (one) => (one.fixed ? 'settled' : one.fixable ? 'fixable' : '') },
  ]);
  return `${rows}\n\n${paint.notable(summary)}`;
}
