import type { SweepCounts } from '@app/timeout';
import { EXIT } from '../../exit-code';
import { OpsCommand } from '../../ops-command';
import { facts } from '../../text/table';
import { durationText } from '../../text/wording';

/** The words of the contract; `found = closed + lost + putBack + failed`. */
export interface SweepResult {
  readonly found: number;
  readonly closed: number;
  readonly lost: number;
  readonly putBack: number;
  readonly failed: number;
  readonly armed: number;
  readonly oldestLagMs: number;
}

export default class SweepRun extends OpsCommand {
  static override purpose = 'ask-providers' as const;
  static override summary = 'Sweep once now: handle everything overdue, arm what comes near';
  static override examples = ['<%= config.bin %> sweep run --json'];

  async run(): Promise<SweepResult> {
    await this.parse(SweepRun);
    const { timeouts } = await this.installation();
    const result = toResult(await timeouts.runSweep());
    this.log(
      facts([
        ['found', result.found],
        ['closed', result.closed],
        ['lost', result.lost],
        ['put back', result.putBack],
        ['failed', result.failed],
        ['alarms armed', result.armed],
        ['oldest lag', durationText(result.oldestLagMs)],
      ]),
    );
    if (result.failed > 0) {
      this.endWith(EXIT.partlyFailed);
      this.note('Some deadlines failed and back off: lastcall timeouts verify shows held ones');
    }
    return result;
  }
}

function toResult({ found, changed, lost, putBack, failed, ...rest }: SweepCounts): SweepResult {
  const { armed, oldestLagMs } = rest;
  return { found: found + failed, closed: changed, lost, putBack, failed, armed, oldestLagMs };
}
