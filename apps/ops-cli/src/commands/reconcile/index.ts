import { type Difference, LastcallError, type ReconcileCounts } from '@app/orders';
import { Flags } from '@oclif/core';
import { EXIT } from '../../exit-code';
import { instant, parseId } from '../../filters';
import { interruption } from '../../interruption';
import { fixFlags, OpsCommand } from '../../ops-command';
import { refuseBesideHooks } from '../../refuse-beside-host';
import { givenFlags } from '../../text/given-flags';
import { paint } from '../../text/paint';
import { table } from '../../text/table';
import { countText } from '../../text/wording';

export interface ReconcileResult extends ReconcileCounts {
  /** Null where a run was gone on with. */
  readonly since: string | null;
  readonly interrupted: boolean;
  /** The first thousand; `differences` counts them all. */
  readonly found: readonly Difference[];
}

const KEPT = 1_000;
const WAYS = ['since', 'resume'];

export default class ReconcileCommand extends OpsCommand {
  static override purpose = 'ask-providers' as const;
  static override summary = "Compare our payments and refunds with the providers' ledgers";
  static override description =
    'Needs --since or --resume, one of the two. Ours only, theirs only, different. --fix settles what has one safe answer and tells of the ' +
    'rest, and what fails as it is settled is left for the next run; one that is interrupted, or fails, says ' +
    'how to go on. Exit code 7 when a difference is left, 5 when settling one has failed.';
  static override examples = [
    '<%= config.bin %> reconcile --since 7d',
    '<%= config.bin %> reconcile --since 30d --fix --json',
    '<%= config.bin %> reconcile --resume 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --fix',
  ];
  static override flags = {
    since: instant({ description: 'what has changed since then', exactlyOne: WAYS }),
    resume: Flags.string({
      description: 'go on with this run, which was interrupted',
      helpValue: 'RUN',
      exactlyOne: WAYS,
      parse: (text) => parseId(text, 'a run'),
    }),
    ...fixFlags('settle what has one safe answer'),
  };

  async run(): Promise<ReconcileResult> {
    const { flags } = await this.parse(ReconcileCommand);
    const fixFor = this.fixFor(flags);
    const { reconcile, running } = await this.installation(fixFor && refuseBesideHooks);
    if (fixFor) await this.refuseDifferences(running);
    const signal = interruption((line) => this.note(line));
    const found: Difference[] = [];
    let begun: string | undefined;
    // What settles goes on settling, for the same reason and whoever asked for it.
    const same = givenFlags(this.argv, ['--resume', '--since']);
    const goOn = (runId: string): void =>
      this.note(`Next: lastcall reconcile --resume ${runId}${same}`);
    const comparing = reconcile.run({
      since: flags.since ?? new Date(),
      resume: flags.resume,
      fixFor,
      signal,
      onBegun: (runId) => (begun = runId),
      onDifference: (difference) => {
        if (found.length < KEPT) found.push(difference);
      },
    });
    const counts = await comparing.catch((error: unknown) => {
      if (found.length > 0) this.log(`${tableOf(found)}\n`);
      if (begun) goOn(begun);
      throw withFound(error, found);
    });
    const interrupted = signal.aborted;
    const result = { since: flags.since?.toISOString() ?? null, ...counts, interrupted, found };
    this.log(describe(result));
    if (interrupted) {
      this.endWith(EXIT.interrupted);
      goOn(counts.runId);
    } else if (counts.failed > 0) this.endWith(EXIT.partlyFailed);
    else if (counts.differences > counts.fixed + counts.closed) this.endWith(EXIT.findings);
    if (!interrupted && !fixFor && found.some(({ fixable }) => fixable)) {
      this.note(`Next: lastcall reconcile --since ${result.since ?? '7d'} --fix`);
    }
    return result;
  }
}

function describe({ found, ...counts }: ReconcileResult): string {
  const { checked, differences, fixed, failed, closed } = counts;
  const settled = `${fixed} settled${failed > 0 ? `, ${failed} failed` : ''}`;
  const summary = `${countText(checked, 'payment')} compared, ${countText(differences, 'difference')}, ${settled}, ${closed} closed`;
  if (found.length === 0) return paint.good(summary);
  return `${tableOf(found)}\n\n${paint.notable(summary)}`;
}

/** What has been shown, and settled, before it failed is told with it. */
function withFound(error: unknown, found: readonly Difference[]): unknown {
  if (!(error instanceof LastcallError)) return error;
  return new LastcallError(error.code, error.message, { ...error.fields, found }, { cause: error });
}

function tableOf(found: readonly Difference[]): string {
  return table(found, [
    { title: 'KIND', value: ({ kind }) => kind },
    { title: 'WHAT', value: ({ subject, what }) => `${subject} ${what}` },
    { title: 'OURS', value: ({ ours }) => ours },
    { title: 'THEIRS', value: ({ theirs }) => theirs },
    { title: 'ORDER', value: ({ orderId }) => orderId },
    { title: 'AT THE PROVIDER', value: ({ providerId }) => providerId },
    {
      title: '',
      value: (one) =>
        one.fixed
          ? 'settled'
          : one.failed
            ? 'failed'
            : one.closed
              ? 'closed'
              : one.fixable
                ? 'fixable'
                : '',
    },
  ]);
}
