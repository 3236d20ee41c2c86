import type { Accountable, DeadlinesOfHosts, DeadlinesReport } from '@app/orders';
import type { AlarmsReport } from '@app/timeout';
import { withDeadlinesOfHosts } from '../../deadlines-of-hosts';
import { EXIT } from '../../exit-code';
import { fixFlags, OpsCommand } from '../../ops-command';
import { paint } from '../../text/paint';
import { shellWord } from '../../text/shell-word';
import { table } from '../../text/table';
import { countText } from '../../text/wording';

export interface VerifyResult {
  /** Deadlines against orders, refunds and webhooks. */
  readonly deadlines: DeadlinesReport;
  /** Alarms against deadlines. */
  readonly alarms: AlarmsReport;
  readonly findings: number;
  /** Findings that --fix has not mended, or cannot. */
  readonly left: number;
}

export default class TimeoutsVerify extends OpsCommand {
  static override summary = 'Compare deadlines with orders, and alarms with deadlines';
  static override description =
    'Missing, orphaned, wrong, held and late ones; --fix mends all but held ones, which are released by ' +
    'timeouts release. Late alarms wait for a worker; those that none takes --fix takes away, where the timer can, ' +
    'and the sweep has what they are for. Exit code 7 for findings. ' +
    'An orphaned alarm is none: its orders have moved on, and it rings for nothing. ' +
    "Of a host's deadlines without orders: missing and held ones.";
  static override examples = [
    '<%= config.bin %> timeouts verify',
    '<%= config.bin %> timeouts verify --fix --reason "restored from the backup of 3 May"',
  ];
  static override flags = {
    ...fixFlags('mend what can be mended'),
  };

  async run(): Promise<VerifyResult> {
    const { flags } = await this.parse(TimeoutsVerify);
    const fixFor = this.fixFor(flags);
    const { deadlines, alarms } = await withDeadlinesOfHosts(await this.environment(), (hosts) =>
      this.#look(hosts, fixFor),
    );
    const mendable = mendableIn(deadlines, alarms);
    const { held } = deadlines;
    const findings = mendable + held.count + alarms.late.count;
    const left = flags.fix ? held.count + lateLeft(alarms) : findings;
    const result = { deadlines, alarms, findings, left };
    this.log(describe(result, flags.fix));
    if (alarms.unseen !== null) this.note(`Alarms were not looked at: ${alarms.unseen}`);
    if (result.left > 0) this.endWith(EXIT.findings);
    this.#tellNext(result, flags.fix);
    return result;
  }

  async #look(
    hosts: DeadlinesOfHosts | undefined,
    fixFor: Accountable | undefined,
  ): Promise<Pick<VerifyResult, 'deadlines' | 'alarms'>> {
    const fix = fixFor !== undefined;
    if (hosts) {
      const { unseenReport } = await import('@app/timeout');
      const alarms = unseenReport("only the host's processes know where they are");
      return { deadlines: await hosts.verify({ fix }), alarms };
    }
    const { verifyDeadlines, timeouts, running } = await this.installation();
    if (fix) await this.refuseDifferences(running);
    // Deadlines first: mended ones get their alarms in the second step.
    const deadlines = await verifyDeadlines.run(fix ? { fixFor } : {});
    return { deadlines, alarms: await timeouts.verifyAlarms.run({ fix }) };
  }

  #tellNext({ deadlines, alarms }: VerifyResult, isFixed: boolean): void {
    const isLate = alarms.late.count > 0;
    // Also where they are taken away now: that makes nobody ring.
    if (isLate)
      this.note('Next: start a worker, or see that one rings: nobody took alarms in time');
    if (!isFixed && (isLate || mendableIn(deadlines, alarms) > 0)) {
      this.note('Next: lastcall timeouts verify --fix');
    }
    const [held] = deadlines.held.sample;
    if (held) {
      this.note(
        `Next: mend the cause, then lastcall timeouts release ${shellWord(held.subjectId)} --reason TEXT`,
      );
    }
  }
}

/** Of a timer that takes no alarm away they stay until they ring. */
function lateLeft({ orphaned, wrong, late, fixed }: AlarmsReport): number {
  return fixed.disarmed < orphaned.count + wrong.count + late.count ? late.count : 0;
}

/** Without orphaned alarms, which every order leaves that is paid in a slot of its own. */
function mendableIn(deadlines: DeadlinesReport, alarms: AlarmsReport): number {
  const { missing, orphaned, wrong } = deadlines;
  return missing.count + orphaned.count + wrong.count + alarms.missing.count + alarms.wrong.count;
}

function describe({ deadlines, alarms, findings, left }: VerifyResult, isFixed: boolean): string {
  const rows = [
    { what: 'deadlines', total: deadlines.deadlines, ...deadlines, late: undefined },
    { what: 'alarms', total: alarms.alarms, ...alarms, held: undefined },
  ];
  const summary = table(rows, [
    { title: '', value: ({ what }) => what },
    { title: 'THERE', value: ({ total }) => total, align: 'right' },
    { title: 'MISSING', value: ({ missing }) => missing.count, align: 'right' },
    { title: 'ORPHANED', value: ({ orphaned }) => orphaned.count, align: 'right' },
    { title: 'WRONG', value: ({ wrong }) => wrong.count, align: 'right' },
    { title: 'HELD', value: ({ held }) => held?.count, align: 'right' },
    { title: 'LATE', value: ({ late }) => late?.count, align: 'right' },
  ]);
  const samples = sampleRows({ deadlines, alarms });
  const sample =
    samples.length === 0
      ? ''
      : `\n\n${table(samples, [
          { title: 'WHAT', value: ({ what }) => what },
          { title: 'ID', value: ({ id }) => id },
          { title: 'AT', value: ({ at }) => at },
        ])}`;
  return `${summary}${sample}\n\n${verdict({ deadlines, alarms, findings, left }, isFixed)}`;
}

function sampleRows({ deadlines, alarms }: Pick<VerifyResult, 'deadlines' | 'alarms'>) {
  const ofDeadlines = (['missing', 'orphaned', 'wrong', 'held'] as const).flatMap((name) =>
    deadlines[name].sample.map(({ kind, subjectId, dueAt }) => ({
      what: `deadline ${name}`,
      id: `${kind} ${subjectId}`,
      at: new Date(dueAt).toISOString(),
    })),
  );
  const ofAlarms = (['missing', 'orphaned', 'wrong', 'late'] as const).flatMap((name) =>
    alarms[name].sample.map(({ id, at }) => ({
      what: `alarm ${name}`,
      id,
      at: new Date(at).toISOString(),
    })),
  );
  return [...ofDeadlines, ...ofAlarms];
}

function verdict({ deadlines, alarms, findings, left }: VerifyResult, isFixed: boolean): string {
  const { armed, disarmed } = alarms.fixed;
  if (findings === 0) {
    const { count } = alarms.orphaned;
    if (disarmed > 0) return paint.good(`No findings; ${countText(disarmed, 'alarm')} disarmed`);
    const more = count > 0 ? `; ${countText(count, 'orphaned alarm')}, to ring for nothing` : '';
    return paint.good(`No findings${more}`);
  }
  if (!isFixed) return paint.bad(countText(findings, 'finding'));
  const { inserted, deleted } = deadlines.fixed;
  const mended =
    `${findings - left} of ${countText(findings, 'finding')} mended: ` +
    `${countText(inserted, 'deadline')} inserted, ${deleted} deleted; ` +
    `${countText(armed, 'alarm')} armed, ${disarmed} disarmed`;
  return left === 0 ? paint.good(mended) : paint.notable(mended);
}
