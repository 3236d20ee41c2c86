import { randomUUID } from 'node:crypto';
import { listWorkers, TimeoutService, type WorkerView } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../../data-source';
import { type Settings, SETTINGS } from '../../config';
import { SEAL_KEY } from '../../events/seal';
import { Gauges } from '../gauges';
import { onDataSource } from '../../order/order-rows';
import { postgresRefusal } from '../../order/postgres-refusal';
import { RELAY_IS_STUCK } from '../../order/event-tx';
import { Overview } from '../overview';
import { RedisOwner } from '../redis-owner';
import type { PaymentProvider } from '../../providers/payment-provider';
import { PaymentProviders } from '../../providers/payment-providers';
import {
  describeCurrencies,
  MEND,
  UnchargeableProducts,
} from '../../providers/unchargeable-products';
import { HostsProvider, SwitchedOffProvider } from '../../providers/switched-off.provider';
import { describeWork, mended, StrandedWork } from '../../providers/stranded-work';
import { isSilent, SWEEP_ALLOWANCE_MS } from '../statistics';
import { TimeoutBrake } from '../timeout-brake';
import { VerifyDeadlines } from '../verify-deadlines';
import {
  type Check,
  expectation,
  finding,
  type Look,
  lookAtAll,
  ok,
  type TellOfSlow,
  unknown,
} from './check';
import { examineBrake } from './examine-brake';
import { examineHistory } from './examine-history';
import { examineRedisOwner } from './examine-redis-owner';
import { examineWaits } from './examine-waits';
import { examineInvariants } from './examine-invariants';

const START_WORKER = 'npm start, or ROLES=worker node dist/apps/api/src/main.js';
const CLOCK_LIMIT_MS = 1_000;
const RELAY_LIMIT_SECONDS = 30;
const PROVIDER_ANSWER_LIMIT_MS = 1_000;

export interface ExamineOptions {
  readonly wholeHistory?: boolean;
  readonly canSweep?: boolean;
  readonly tellOfSlow?: TellOfSlow;
}

/** Looks at how the work flows: needs a database that is there and migrated. */
@Injectable()
export class ExamineInstallation {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    @Inject(SETTINGS) private readonly config: Settings,
    private readonly providers: PaymentProviders,
    private readonly stranded: StrandedWork,
    private readonly unchargeable: UnchargeableProducts,
    private readonly overview: Overview,
    private readonly gauges: Gauges,
    private readonly timeouts: TimeoutService,
    private readonly deadlines: VerifyDeadlines,
    private readonly brake: TimeoutBrake,
    private readonly redisOwner: RedisOwner,
    @Inject(SEAL_KEY) private readonly sealKey: string | null,
  ) {}

  /**
   * With `wholeHistory` all that was ever sealed is read again: minutes, where there are millions.
   * Without `canSweep` only the host's processes sweep, as they alone have its code.
   */
  async run({ wholeHistory = false, canSweep = true, tellOfSlow }: ExamineOptions = {}): Promise<
    Check[]
  > {
    const sql = onDataSource(this.dataSource);
    const looks: Look[] = [
      ['redis', 'owner', () => examineRedisOwner(this.redisOwner)],
      ['workers', 'alive', () => this.#workers()],
      ['timer', 'brake', async () => [await examineBrake(this.brake)]],
      ['flow', 'overdue deadlines', () => this.#flow(canSweep)],
      ['flow', 'waits', () => examineWaits(sql)],
      ['flow', 'event relay', async () => [await this.#relay()]],
      ['flow', 'deadlines', () => this.#deadlines()],
      ['flow', 'alarms', async () => [await this.#alarms()]],
      ['provider', 'all', () => this.#providers()],
      ['history', 'seals', () => examineHistory(sql, { key: this.sealKey, wholeHistory })],
      ['invariants', 'all', () => examineInvariants(sql, this.#latenessLimitMs)],
    ];
    return lookAtAll(looks, tellOfSlow);
  }

  async #workers(): Promise<Check[]> {
    const workers = await listWorkers(this.dataSource);
    const alive = workers.filter((worker) => !isSilent(worker));
    const lastSweep = workers[0] ? `last sweep ${ago(workers[0].silentForMs)} ago` : 'never swept';
    return [
      expectation(
        'workers',
        'alive',
        alive.length > 0,
        alive.length > 0 ? alive.map(nameOf).join(', ') : `no worker; ${lastSweep}`,
        START_WORKER,
      ),
      ...workers
        .filter(isSilent)
        .map((worker) =>
          finding(
            'workers',
            nameOf(worker),
            `silent for ${ago(worker.silentForMs)}`,
            'see whether it hangs (its log, its process) and restart it',
          ),
        ),
      ...alive.flatMap((worker) => healthOf(worker)),
    ];
  }

  async #flow(canSweep: boolean): Promise<Check[]> {
    const view = await this.overview.read();
    const limitMs = this.#latenessLimitMs;
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
        'lastcall refunds list --status needs_attention, then lastcall refunds retry ID',
      ),
      expectation(
        'flow',
        'held webhooks',
        view.heldWebhooks === 0,
        `${view.heldWebhooks}`,
        'lastcall webhooks list --status held, then lastcall webhooks replay ID',
      ),
      expectation(
        'flow',
        'money on hold',
        view.heldPayments === 0,
        view.heldPayments === 1 ? '1 payment' : `${view.heldPayments} payments`,
        'lastcall payments list tells why; decide, then lastcall payments settle ID',
      ),
    ];
  }

  async #relay(): Promise<Check> {
    const { relayAgeSeconds } = await this.gauges.read();
    const sql = onDataSource(this.dataSource);
    const [row] = await sql.rows<{ stuck: boolean }>(
      `SELECT ${RELAY_IS_STUCK} AS stuck FROM relay_cursor c`,
    );
    if (row?.stuck) {
      return finding(
        'flow',
        'event relay',
        `the history is of another cluster: nothing was relayed for ${ago(relayAgeSeconds * 1_000)}`,
        'lastcall events rewind --reason "restored"',
      );
    }
    return expectation(
      'flow',
      'event relay',
      relayAgeSeconds <= RELAY_LIMIT_SECONDS,
      relayAgeSeconds === 0
        ? 'nothing waits'
        : `the oldest event waits for ${ago(relayAgeSeconds * 1_000)}`,
      `events leave with a worker and Redis: ${START_WORKER}`,
    );
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
      const mend = postgresRefusal(error)?.mend ?? 'mend Redis';
      return unknown('flow', 'alarms', error, `${mend}; then lastcall timeouts verify`);
    }
  }

  async #providers(): Promise<Check[]> {
    const checks: Check[] = [];
    for (const provider of this.providers.all) {
      if (provider instanceof SwitchedOffProvider) checks.push(notHere(provider));
      else checks.push(await this.#reach(provider), ...(await examineAt(provider)));
    }
    const [first] = this.providers.all;
    const unchargeable = await this.unchargeable.find();
    if (unchargeable.length > 0) {
      checks.push(
        finding('provider', 'currencies', describeCurrencies(unchargeable, first.name), MEND),
      );
    }
    const stranded = await this.stranded.find();
    const setting = mended(this.config, stranded);
    const fix = `set ${setting} and restart: nobody asks it, and refunds wait`;
    return [
      ...checks,
      ...stranded.map((work) =>
        finding('provider', work.provider, `switched off with ${describeWork(work)}`, fix),
      ),
    ];
  }

  /** Asks after a payment that nobody has: an honest answer is that there is none. */
  async #reach(provider: PaymentProvider): Promise<Check> {
    const startedMs = performance.now();
    const answer = await provider.findPayment({
      paymentId: randomUUID(),
      providerPaymentId: `none_${randomUUID()}`,
      amount: 1,
      currency: 'EUR',
      expiresAt: new Date(),
    });
    const tookMs = Math.round(performance.now() - startedMs);
    const name = `${provider.name} reachable`;
    const fix =
      'closing orders wait for it; check its status page and SANDBOX_URL or the Stripe keys';
    if (answer.state === 'UNKNOWN') return unknown('provider', name, answer.why, fix);
    const isQuick = tookMs <= PROVIDER_ANSWER_LIMIT_MS;
    return expectation('provider', name, isQuick, `answers within ${tookMs} ms`, fix);
  }

  get #latenessLimitMs(): number {
    return this.config.SWEEP_INTERVAL + SWEEP_ALLOWANCE_MS;
  }
}

/** A command has not the code of a host, and may be run without secrets: the processes have both. */
function notHere(provider: SwitchedOffProvider): Check {
  const { name, why } = provider;
  if (provider instanceof HostsProvider) return ok('provider', name, `${why}; it was not asked`);
  return unknown('provider', name, why, 'set it for the command as well, and it is asked');
}

/** What the provider itself has been told of us. */
async function examineAt(provider: PaymentProvider): Promise<Check[]> {
  try {
    const found = (await provider.examine?.()) ?? [];
    return found.map(({ name, detail, fix }) => {
      const title = `${provider.name}: ${name}`;
      return fix === null ? ok('provider', title, detail) : finding('provider', title, detail, fix);
    });
  } catch (error) {
    const fix = 'a key that may read webhook endpoints is needed to look at them';
    return [unknown('provider', `${provider.name}: webhook endpoint`, error, fix)];
  }
}

function healthOf(worker: WorkerView): Check[] {
  const checks: Check[] = [];
  if (!worker.timerStoreHealthy) {
    const detail = 'its timer store takes no alarms, or they ring late';
    checks.push(finding('workers', nameOf(worker), detail, 'see the redis checks'));
  }
  if (Math.abs(worker.clockOffsetMs) > CLOCK_LIMIT_MS) {
    const detail = `its clock is ${-worker.clockOffsetMs} ms ahead of the database's`;
    checks.push(finding('workers', nameOf(worker), detail, 'synchronise its clock (NTP)'));
  }
  return checks;
}

function nameOf({ host, pid }: WorkerView): string {
  return `${host}:${pid}`;
}

function ago(durationMs: number): string {
  return durationMs < 10_000
    ? `${(durationMs / 1_000).toFixed(1)} s`
    : `${Math.round(durationMs / 1_000)} s`;
}
