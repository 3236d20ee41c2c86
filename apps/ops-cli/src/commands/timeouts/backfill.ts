import { Flags } from '@oclif/core';
import type { BackfillResult } from '@app/timeout';
import { usageFailure } from '../../command-failure';
import { EXIT } from '../../exit-code';
import { instant } from '../../filters';
import { interruption } from '../../interruption';
import { OpsCommand } from '../../ops-command';
import { progress } from '../../text/progress';
import { facts } from '../../text/table';
import { durationText } from '../../text/wording';

export interface BackfillOutcome extends Omit<BackfillResult, 'cursor'> {
  readonly dryRun: boolean;
  readonly cursor: string | null;
  readonly tookMs: number;
}

export default class TimeoutsBackfill extends OpsCommand {
  static override summary = 'Arm the alarms again from the deadlines in Postgres';
  static override description =
    'For a timer store that has lost its data. Safe to repeat, and beside running workers. ' +
    'Deadlines beyond the horizon wait in Postgres; a sweep arms them as they come near. ' +
    'Ctrl-C stops after the current batch and prints where to resume.';
  static override examples = [
    '<%= config.bin %> timeouts backfill --dry-run',
    '<%= config.bin %> timeouts backfill --batch 10000 --rate 50000',
  ];
  static override flags = {
    'dry-run': Flags.boolean({ description: 'count, and arm nothing' }),
    since: instant({ description: 'only deadlines due since then' }),
    batch: Flags.integer({
      description: 'deadlines at once',
      default: 5_000,
      min: 1,
      max: 100_000,
    }),
    rate: Flags.integer({ description: 'at most so many deadlines a second', min: 1 }),
    resume: Flags.string({ description: 'go on where a run stopped', helpValue: 'CURSOR' }),
  };

  async run(): Promise<BackfillOutcome> {
    const { flags } = await this.parse(TimeoutsBackfill);
    const { timeouts } = await this.installation();
    const startedMs = performance.now();
    const bar = progress(flags['dry-run'] ? 'Counting' : 'Arming');
    const run = timeouts.backfill.run({
      dryRun: flags['dry-run'],
      since: flags.since,
      batch: flags.batch,
      ratePerSecond: flags.rate,
      resume: flags.resume,
      signal: interruption((line) => this.note(line)),
      onProgress: ({ done, total, cursor }) => bar.update(done, total, cursor && `at ${cursor}`),
    });
    const result = await run.finally(() => bar.stop()).catch(refuseCursor);
    const outcome = {
      ...result,
      dryRun: flags['dry-run'],
      cursor: result.cursor ?? null,
      tookMs: Math.round(performance.now() - startedMs),
    };
    this.log(describe(outcome));
    if (outcome.interrupted) this.#tellHowToResume(outcome.cursor ?? flags.resume);
    return outcome;
  }

  #tellHowToResume(cursor: string | undefined): void {
    this.endWith(EXIT.interrupted);
    const from = cursor ? ` --resume ${cursor}` : '';
    this.note(`Interrupted. Next: lastcall timeouts backfill${from}`);
  }
}

function refuseCursor(error: Error & { code?: string }): never {
  throw error.code === 'invalid_cursor' ? usageFailure(error.message) : error;
}

function describe(outcome: BackfillOutcome): string {
  return facts([
    ['deadlines', `${outcome.done} of ${outcome.total}`],
    ['covered by alarms', outcome.covered],
    ['already due', outcome.overdue],
    ['beyond the horizon', outcome.waiting],
    [outcome.dryRun ? 'alarms to arm' : 'alarms armed', outcome.alarms],
    ['took', durationText(outcome.tookMs)],
  ]);
}
