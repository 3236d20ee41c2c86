import { Flags } from '@oclif/core';
import type { ShardedSweepReport, ShardReport, SweepCounts } from '@app/timeout';
import { usageFailure } from '../../command-failure';
import { EXIT } from '../../exit-code';
import { interruption } from '../../interruption';
import { OpsCommand } from '../../ops-command';
import { refuseBesideHooks } from '../../refuse-beside-host';
import { progress } from '../../text/progress';
import { serviceLevelText, shardsText, sweepText, type SweepTotals } from '../../text/sweep-text';
import { durationText } from '../../text/wording';

/** Of deadlines that close orders. */
const CLOSING_KIND = 'payment';

/** The words of the contract; `found = handled + lost + putBack + failed`. */
export interface SweepResult extends SweepTotals {
  readonly armed: number;
}

/** As {@link SweepResult}, of all processes that took part. */
export interface ShardedSweepResult extends SweepTotals {
  readonly runId: string;
  readonly begunAt: Date;
  readonly tookMs: number;
  readonly due: number;
  readonly left: number;
  readonly interrupted: boolean;
  readonly serviceLevel: { readonly withinMs: number; readonly met: boolean };
  /** With --report. */
  readonly shards?: readonly ShardResult[];
}

type ShardResult = Omit<ShardReport, 'changed'> & {
  readonly handled: number;
  readonly closed: number;
};

export default class SweepRun extends OpsCommand {
  static override purpose = 'ask-providers' as const;
  static override summary = 'Sweep once now: handle everything overdue, arm what comes near';
  static override description =
    'With --shards what is overdue is cut into parts, and all workers take part beside this command: a part of one ' +
    'that dies is taken over within seconds. Ctrl-C ends this part after its batch; the workers go on with the rest.';
  static override examples = [
    '<%= config.bin %> sweep run --json',
    '<%= config.bin %> sweep run --shards 32 --report',
  ];
  static override flags = {
    shards: Flags.integer({
      description: 'parts of each kind, for all workers',
      min: 1,
      max: 1_000,
    }),
    report: Flags.boolean({ description: 'tell of each part, too: with --shards' }),
  };

  async run(): Promise<SweepResult | ShardedSweepResult> {
    const { flags } = await this.parse(SweepRun);
    if (flags.shards !== undefined) return this.#byShards(flags.shards, flags.report);
    if (flags.report) throw usageFailure('--report goes with --shards');
    const { timeouts, timeoutBrake } = await this.installation(refuseBesideHooks);
    const result = toResult(await timeouts.runSweep());
    this.log(sweepText(result, [['alarms armed', result.armed]]));
    this.#tellOfBrake(await timeoutBrake.read());
    this.#tellOfFailures(result);
    return result;
  }

  async #byShards(shards: number, isReported: boolean): Promise<ShardedSweepResult> {
    const { timeouts, timeoutBrake } = await this.installation(refuseBesideHooks);
    const { SERVICE_LEVEL_MS } = await import('@app/timeout');
    const bar = progress('Sweeping');
    const signal = interruption((line) => this.note(line));
    const onProgress = ({ due, found, failed }: ShardedSweepReport): void =>
      bar.update(found + failed, Math.max(due, found + failed));
    const run = timeouts.shardedSweep.run({ shards, signal, onProgress });
    const report = await run.finally(() => bar.stop());
    await timeouts.idle();
    const result = toShardedResult(report, isReported, SERVICE_LEVEL_MS);
    this.log(
      sweepText(result, [
        ['left', result.left],
        ['took', durationText(result.tookMs)],
        ['service level', serviceLevelText(report, SERVICE_LEVEL_MS)],
      ]),
    );
    if (isReported && report.shards.length > 0) this.log(`\n${shardsText(report.shards)}`);
    this.#tellOfBrake(await timeoutBrake.read());
    this.#tellOfFailures(result);
    if (result.left > 0) {
      this.endWith(EXIT.partlyFailed);
      this.note(
        `${result.left} could not be had: somebody holds them, or lastcall doctor says why`,
      );
    }
    if (result.interrupted) {
      this.endWith(EXIT.interrupted);
      this.note('Interrupted; the workers go on with the rest. Next: lastcall stats');
    }
    return result;
  }

  #tellOfBrake(stopped: { readonly cause: string } | null | undefined): void {
    if (!stopped) return;
    this.note(
      `Timeouts have stopped themselves (${stopped.cause}), and what they would close was not touched: lastcall timeouts resume`,
    );
  }

  #tellOfFailures({ failed }: SweepTotals): void {
    if (failed === 0) return;
    this.endWith(EXIT.partlyFailed);
    this.note('Some deadlines failed and back off: lastcall timeouts verify shows held ones');
  }
}

function toResult({ found, changed, changedOf, ...rest }: SweepCounts): SweepResult {
  return { ...rest, found: found + rest.failed, ...doneBy(changed, changedOf) };
}

/** Orders close by one kind of deadlines alone; what is handled of the others is a refund, a webhook, ... */
function doneBy(
  handled: number,
  kinds: Readonly<Record<string, number>>,
): Pick<SweepTotals, 'handled' | 'kinds' | 'closed'> {
  return { handled, kinds, closed: kinds[CLOSING_KIND] ?? 0 };
}

function toShardedResult(
  { hasEnded, isWithinServiceLevel, changed, found, shards, ...rest }: ShardedSweepReport,
  isReported: boolean,
  withinMs: number,
): ShardedSweepResult {
  const kinds: Record<string, number> = {};
  for (const shard of shards) {
    if (shard.changed > 0) kinds[shard.kind] = (kinds[shard.kind] ?? 0) + shard.changed;
  }
  const each = ({ changed: handled, ...shard }: ShardReport): ShardResult => ({
    ...shard,
    found: shard.found + shard.failed,
    handled,
    closed: shard.kind === CLOSING_KIND ? handled : 0,
  });
  return {
    ...rest,
    found: found + rest.failed,
    ...doneBy(changed, kinds),
    interrupted: !hasEnded,
    serviceLevel: { withinMs, met: isWithinServiceLevel },
    ...(isReported ? { shards: shards.map(each) } : {}),
  };
}
