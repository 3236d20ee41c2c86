import { TimeoutService } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type Settings, SETTINGS } from '../../config';
import { DATABASE } from '../../data-source';
import { onDataSource } from '../../order/order-rows';
import { SEAL_KEY } from '../../events/seal';
import { latenessLimitMs } from '../../settings/lateness-limit';
import { Gauges } from '../gauges';
import { Overview } from '../overview';
import { RedisMark } from '../redis-mark';
import { RedisOwner } from '../redis-owner';
import { TimeoutBrake } from '../timeout-brake';
import { VerifyDeadlines } from '../verify-deadlines';
import { WAITS } from '../waits';
import {
  ago,
  type Check,
  expectation,
  type Look,
  lookAtAll,
  mendOf,
  ok,
  type TellOfSlow,
  unknown,
} from './check';
import { examineBrakes } from './examine-brake';
import { examineHistory } from './examine-history';
import { examineInvariants } from './examine-invariants';
import { ExamineProviders } from './examine-providers';
import { examineOneRedis } from './examine-one-redis';
import { examineRedisOwner } from './examine-redis-owner';
import { examineRelay } from './examine-relay';
import { examineWaits } from './examine-waits';
import { lookAtStoreOf } from './examine-timer';
import { examineWorkers, START_WORKER } from './examine-workers';

/** How an installation is to be examined. */
export interface ExamineOptions {
  /** True: all that was ever sealed is read again, which takes minutes where there are millions. Default: false. */
  readonly wholeHistory?: boolean;
  /** False where only the host's processes sweep, as they alone have its code. Default: true. */
  readonly canSweep?: boolean;
  readonly tellOfSlow?: TellOfSlow;
}

/** Looks at how the work flows: needs a database that is there and migrated. */
@Injectable()
export class ExamineInstallation {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    @Inject(SETTINGS) private readonly config: Settings,
    private readonly providers: ExamineProviders,
    private readonly overview: Overview,
    private readonly gauges: Gauges,
    private readonly timeouts: TimeoutService,
    private readonly deadlines: VerifyDeadlines,
    private readonly brake: TimeoutBrake,
    private readonly redisOwner: RedisOwner,
    private readonly redisMark: RedisMark,
    @Inject(SEAL_KEY) private readonly sealKey: string | null,
  ) {}

  async run({ wholeHistory = false, canSweep = true, tellOfSlow }: ExamineOptions = {}): Promise<
    Check[]
  > {
    const sql = onDataSource(this.dataSource);
    const looks: Look[] = [
      ['redis', 'owner', () => examineRedisOwner(this.redisOwner)],
      ['redis', 'one for all', () => examineOneRedis(sql, this.redisMark)],
      ['workers', 'alive', () => examineWorkers(this.dataSource, this.config.TIMER_DRIVER)],
      ['timer', 'brake', async () => examineBrakes(await this.brake.readAll(), true)],
      ['flow', 'overdue deadlines', () => this.#flow(canSweep)],
      ['flow', 'waits', () => examineWaits(sql)],
      ['flow', 'event relay', async () => [await this.#relay()]],
      ['flow', 'deadlines', () => this.#deadlines()],
      ['flow', 'alarms', async () => [await this.#alarms()]],
      ['provider', 'all', () => this.providers.run()],
      ['history', 'seals', () => this.#history(wholeHistory)],
      ['invariants', 'all', () => examineInvariants(sql, latenessLimitMs(this.config))],
    ];
    return lookAtAll(looks, tellOfSlow);
  }

  #history(wholeHistory: boolean): Promise<Check[]> {
    return examineHistory(this.dataSource, { key: this.sealKey, wholeHistory });
  }

  async #flow(canSweep: boolean): Promise<Check[]> {
    const view = await this.overview.read();
    const limitMs = latenessLimitMs(this.config);
    return [
      expectation(
        'flow',
        'overdue deadlines',
        view.oldestLagMs <= limitMs,
        view.overdueDeadlines === 0
          ? 'none'
          : `${view.overdueDeadlines}, the oldest by ${ago(view.oldestLagMs)}`,
        canSweep
          ? 'lastcall sweep run, then see why no worker took them'
          : 'start a worker of the host: only its processes can close them; then see why none took them',
      ),
      expectation(
        'flow',
        'refunds',
        view.refunds.needs_attention === 0,
        `${view.refunds.needs_attention} need attention, ${view.refunds.failed} failed and are tried again`,
        'lastcall refunds list --status needs_attention, then lastcall refunds retry ID, or settle ID --as done',
      ),
      expectation(
        'flow',
        'held webhooks',
        view.heldWebhooks === 0,
        `${view.heldWebhooks}`,
        `lastcall webhooks list --status held, then ${WAITS.webhook_held.exit}`,
      ),
      expectation(
        'flow',
        'money on hold',
        view.heldPayments === 0,
        view.heldPayments === 1 ? '1 payment' : `${view.heldPayments} payments`,
        `lastcall payments list tells why; decide, then ${WAITS.payment_on_hold.exit}`,
      ),
    ];
  }

  async #relay(): Promise<Check> {
    const { relayAgeSeconds } = await this.gauges.read();
    return examineRelay(onDataSource(this.dataSource), relayAgeSeconds);
  }

  async #deadlines(): Promise<Check[]> {
    const { deadlines, missing, orphaned, wrong, held } = await this.deadlines.run();
    const unlike = missing.count + orphaned.count + wrong.count;
    return [
      expectation(
        'flow',
        'deadlines',
        unlike === 0,
        `${deadlines}; ${missing.count} missing, ${orphaned.count} orphaned, ${wrong.count} wrong`,
        'lastcall timeouts verify --fix',
      ),
      expectation(
        'flow',
        'held deadlines',
        held.count === 0,
        `${held.count}`,
        'lastcall timeouts verify shows them; mend the cause, then lastcall timeouts release ID',
      ),
    ];
  }

  async #alarms(): Promise<Check> {
    const fix = 'lastcall timeouts verify --fix';
    try {
      const report = await this.timeouts.verifyAlarms.run();
      if (report.unseen !== null) return ok('flow', 'alarms', `${report.unseen}; the sweep covers`);
      const { alarms, missing, orphaned, wrong, late } = report;
      return expectation(
        'flow',
        'alarms',
        // An order that is paid in a slot of its own leaves an alarm for nobody, which rings and is gone.
        missing.count + wrong.count + late.count === 0,
        `${alarms}; ${missing.count} missing, ${orphaned.count} orphaned, ${wrong.count} wrong, ${late.count} late`,
        late.count > 0 ? `${START_WORKER}, then ${fix}` : fix,
      );
    } catch (error) {
      const mend = mendOf(error) ?? lookAtStoreOf(this.config.TIMER_DRIVER);
      return unknown('flow', 'alarms', error, `${mend}; then lastcall timeouts verify`);
    }
  }
}
