import { Flags } from '@oclif/core';
import type { ArmFromQueryResult, BackfillResult } from '@app/timeout';
import { readFileSync } from 'node:fs';
import { usageFailure } from '../../command-failure';
import { EXIT } from '../../exit-code';
import { instant } from '../../filters';
import { interruption } from '../../interruption';
import { OpsCommand } from '../../ops-command';
import { givenFlags } from '../../text/given-flags';
import { progress } from '../../text/progress';
import { shellWord } from '../../text/shell-word';
import { facts } from '../../text/table';
import { durationText } from '../../text/wording';

export interface BackfillOutcome extends Omit<BackfillResult, 'cursor'> {
  readonly dryRun: boolean;
  readonly cursor: string | null;
  readonly tookMs: number;
}

export interface FromQueryOutcome extends Omit<ArmFromQueryResult, 'cursor'> {
  readonly dryRun: boolean;
  readonly cursor: string | null;
  readonly tookMs: number;
}

export default class TimeoutsBackfill extends OpsCommand {
  static override summary = 'Arm the alarms again from the deadlines in Postgres';
  static override description =
    'For a timer store that has lost its data. Safe to repeat, and beside running workers. ' +
    'Deadlines beyond the horizon wait in Postgres; a sweep arms them as they come near. ' +
    'Ctrl-C stops after the current batch and prints where to resume. ' +
    'With --from-query it arms deadlines, those of orders that were open before lastcall came: of what a query of ' +
    "the shop's own tables gives (kind, subject, due), those that are not armed yet.";
  static override examples = [
    '<%= config.bin %> timeouts backfill --dry-run',
    '<%= config.bin %> timeouts backfill --batch 10000 --rate 50000',
    '<%= config.bin %> timeouts backfill --from-query @open-orders.sql --dry-run',
  ];
  static override flags = {
    'dry-run': Flags.boolean({ description: 'count, and arm nothing' }),
    'from-query': Flags.string({
      description:
        'arm what this SELECT of kind, subject and due gives; @FILE reads it from a file',
      helpValue: 'SQL',
      exclusive: ['since'],
    }),
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

  async run(): Promise<BackfillOutcome | FromQueryOutcome> {
    const { flags } = await this.parse(TimeoutsBackfill);
    const query = flags['from-query'];
    if (query !== undefined) return this.#fromQuery(query, flags);
    const { timeouts } = await this.installation();
    const startedMs = performance.now();
    const bar = progress(flags['dry-run'] ? 'Counting' : 'Arming');
    const goOnAt = (cursor = flags.resume): void => this.#goOnAt(cursor, flags.since);
    goOnAt();
    const run = timeouts.backfill.run({
      dryRun: flags['dry-run'],
      since: flags.since,
      batch: flags.batch,
      ratePerSecond: flags.rate,
      resume: flags.resume,
      signal: interruption((line) => this.note(line)),
      onProgress: ({ done, total, cursor }) => {
        goOnAt(cursor);
        bar.update(done, total, cursor && `at ${cursor}`);
      },
    });
    const result = await run.finally(() => bar.stop()).catch(refuseCursor);
    const outcome = {
      ...result,
      dryRun: flags['dry-run'],
      cursor: result.cursor ?? null,
      tookMs: Math.round(performance.now() - startedMs),
    };
    this.log(describe(outcome));
    if (outcome.interrupted) this.#tellHowToGoOn();
    return outcome;
  }

  /** Asks for no installation: a shop that has our deadlines alone has no tables of orders. */
  async #fromQuery(
    query: string,
    flags: {
      readonly 'dry-run': boolean;
      readonly batch: number;
      readonly rate: number | undefined;
      readonly resume: string | undefined;
    },
  ): Promise<FromQueryOutcome> {
    const { loadConfigFor } = await import('@app/orders');
    const { armFromQuery } = await import('@app/timeout');
    const config = loadConfigFor('look', await this.environment());
    const startedMs = performance.now();
    const dryRun = flags['dry-run'];
    const bar = progress(dryRun ? 'Counting' : 'Arming');
    const goOnAt = (cursor = flags.resume): void => this.#goOnAt(cursor);
    goOnAt();
    const run = armFromQuery({
      url: config.DATABASE_URL,
      schema: config.DATABASE_SCHEMA,
      query: query.startsWith('@') ? readQuery(query.slice(1)) : query,
      batch: flags.batch,
      ratePerSecond: flags.rate,
      resume: flags.resume,
      dryRun,
      signal: interruption((line) => this.note(line)),
      onProgress: ({ done, total, cursor }) => {
        goOnAt(cursor);
        bar.update(done, total, cursor && `at ${cursor}`);
      },
    });
    const result = await run.finally(() => bar.stop()).catch(refuseQuery);
    const tookMs = Math.round(performance.now() - startedMs);
    const outcome = { ...result, dryRun, cursor: result.cursor ?? null, tookMs };
    this.log(describeQuery(outcome));
    for (const kind of outcome.newKinds) {
      this.note(
        `warning: nothing was armed of the kind ${JSON.stringify(kind)} before: where no process ` +
          'handles it by this very name its deadlines wait for ever; lastcall doctor tells',
      );
    }
    if (outcome.interrupted) this.#tellHowToGoOn();
    return outcome;
  }

  /** As it was begun: who counted goes on counting, no faster than before, and since the same instant. */
  #goOnAt(cursor: string | undefined, since?: Date): void {
    const from = cursor ? ` --resume ${shellWord(cursor)}` : '';
    const when = since ? ` --since ${since.toISOString()}` : '';
    const same = givenFlags(this.argv, ['--resume', '--since']);
    this.wayOn = { goesOnBy: `lastcall timeouts backfill${from}${when}${same}` };
  }

  #tellHowToGoOn(): void {
    this.endWith(EXIT.interrupted);
    this.note(`Interrupted. Next: ${this.wayOn.goesOnBy}`);
  }
}

function refuseCursor(error: Error & { code?: string }): never {
  throw error.code === 'invalid_cursor' ? usageFailure(error.message) : error;
}

function refuseQuery(error: Error & { code?: string }): never {
  throw error.code === 'invalid_query' ? usageFailure(error.message) : error;
}

function readQuery(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw usageFailure(`${file} cannot be read: ${error instanceof Error ? error.message : ''}`);
  }
}

function describeQuery(outcome: FromQueryOutcome): string {
  return facts([
    ['rows of the query', `${outcome.done} of ${outcome.total}`],
    [outcome.dryRun ? 'deadlines to arm' : 'deadlines armed', outcome.armed],
    ['armed before', outcome.already],
    ['due already', outcome.overdue],
    ['their alarms', "by the workers' next sweep, or as they come near"],
    ['took', durationText(outcome.tookMs)],
  ]);
}

function describe(outcome: BackfillOutcome): string {
  return facts([
    ['deadlines', `${outcome.done} of ${outcome.total}`],
    ['covered by alarms', outcome.covered],
    ['already due', outcome.overdue],
    ['beyond the horizon', waitingText(outcome.waiting)],
    [outcome.dryRun ? 'alarms to arm' : 'alarms armed', outcome.alarms],
    ['took', durationText(outcome.tookMs)],
  ]);
}

const waitingText = (count: number): string | number =>
  count > 0 ? `${count}, which sweeps arm as they come near` : count;
