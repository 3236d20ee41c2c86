import { every, TimeoutService, type Turns } from '@app/timeout';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { DeliverWebhooks } from './deliveries/deliver-webhooks';
import { CarryOutErrands } from './errands/carry-out-errands';
import { FanOutEvents } from './deliveries/fan-out';
import { WarnShipments } from './fulfilment/warn-shipments';
import { ForgetHeld } from './ops/forget-held';
import { WatchWaits } from './ops/watch-waits';
import { DigestHistory } from './events/digest-history';
import { RelayEvents } from './events/relay-events';
import { SealHistory } from './events/seal-history';
import { WatchInvariants } from './invariants/watch-invariants';
import { RETENTION_EVERY_MS } from './forget-in-batches';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from './order/telemetry';
import { Retention } from './retention';
import { FoldStock } from './stock/fold-stock';

const MINUTE_MS = 60_000;

/** What was released can be had again within a second; what is wanted before is folded by placing. */
const FOLD_EVERY_MS = 250;
/**
 * Every other turn, then: each run touches all products that a burst gives back, and the fewer runs, the less.
 * Where much waits, hardly any product is among it twice: the sooner it begins, the sooner it is back.
 */
const FOLD_IN_A_BURST_AFTER_MS = 300;
const RELAY_EVERY_MS = 250;
/** Sooner than a person looks whether their system has heard. */
const DELIVER_EVERY_MS = 500;
/** An operator waits for what a command has left to this process. */
const ERRANDS_EVERY_MS = 500;
const RELAY_IN_A_BURST_AFTER_MS = 2_000;
/** A run reads for a second or so, in every worker: often enough to know within minutes. */
const INVARIANTS_EVERY_MS = 5 * MINUTE_MS;
/** What the console tells of closes is that old at the most. */
const DIGEST_EVERY_MS = 5_000;
/** A hundred thousand rows a run at the most, and hardly any while orders are due in a burst. */
const SEAL_EVERY_MS = 5 * MINUTE_MS;
/** Where a run could not come to the end: else a busy shop writes more than is ever sealed. */
const SEAL_ON_AFTER_MS = 5_000;
/** An alert comes a minute after its time at the latest. */
const WAITS_EVERY_MS = MINUTE_MS;
/** Sooner than whoever has settled an order by hand looks whether it is all in order. */
const HELD_EVERY_MS = 5_000;
/** Where orders are to be shipped within minutes, it is told minutes ahead: each has to be seen before. */
const SHIPMENTS_EVERY_MS = MINUTE_MS;

/** The background work of a worker beside closing: each in turns of its own, one at a time. */
@Injectable()
export class Schedules implements OnApplicationBootstrap, BeforeApplicationShutdown {
  #turns: Turns[] = [];

  constructor(
    private readonly foldStock: FoldStock,
    private readonly relay: RelayEvents,
    private readonly seals: SealHistory,
    private readonly digest: DigestHistory,
    private readonly invariants: WatchInvariants,
    private readonly waits: WatchWaits,
    private readonly held: ForgetHeld,
    private readonly shipments: WarnShipments,
    private readonly retention: Retention,
    private readonly fanOut: FanOutEvents,
    private readonly deliveries: DeliverWebhooks,
    private readonly errands: CarryOutErrands,
    private readonly timeouts: TimeoutService,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  onApplicationBootstrap(): void {
    const told = (what: string) => ({
      onError: (error: unknown) => this.telemetry.failed(what, error),
    });
    const { foldStock, digest, invariants, waits, shipments, retention } = this;
    const { errands } = this;
    this.#turns = [
      // Several workers share the products by SKIP LOCKED.
      every(
        FOLD_EVERY_MS,
        this.#inABurstAfter(
          FOLD_IN_A_BURST_AFTER_MS,
          async (stopping) => {
            if (!foldStock.isResting) await foldStock.runOnce(() => stopping.aborted);
          },
          () => foldStock.hasMuch(),
        ),
        told('fold stock'),
      ),
      every(
        RELAY_EVERY_MS,
        // What a burst has left behind is not relayed to its end by who is told to end.
        this.#inABurstAfter(RELAY_IN_A_BURST_AFTER_MS, (stopping) =>
          this.relay.runOnce(() => stopping.aborted || this.#isBursting),
        ),
        told('relay events'),
      ),
      // One of the workers, by a lock of Postgres.
      every(SEAL_ON_AFTER_MS, this.#sealing(), told('seal history')),
      every(
        DIGEST_EVERY_MS,
        (stopping) => digest.runOnce(() => stopping.aborted || this.#isBursting),
        told('digest history'),
      ),
      every(DELIVER_EVERY_MS, (stopping) => this.#deliver(stopping), told('deliver webhooks')),
      // Several workers share them by SKIP LOCKED.
      every(
        ERRANDS_EVERY_MS,
        (stopping) => errands.runOnce(() => stopping.aborted),
        told('errands'),
      ),
      // Each worker exports what it found.
      every(
        INVARIANTS_EVERY_MS,
        (stopping) => invariants.runOnce(() => stopping.aborted),
        told('invariants'),
      ),
      // One worker tells; the others find it told.
      every(WAITS_EVERY_MS, () => waits.runOnce(), told('waits')),
      every(HELD_EVERY_MS, () => this.held.runOnce(), told('forget held')),
      every(SHIPMENTS_EVERY_MS, () => shipments.runOnce(), told('warn shipments')),
      // Several workers share the rows by SKIP LOCKED.
      every(
        RETENTION_EVERY_MS,
        (stopping) => retention.runOnce(() => stopping.aborted),
        told('retention'),
      ),
    ];
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.#turns.map((turns) => turns.stop()));
    await this.deliveries.ended();
  }

  /** Its stock has to come back as well: of many products that takes longer than the closing. */
  get #isBursting(): boolean {
    return this.timeouts.isBursting || this.foldStock.isBehind;
  }

  /** Orders close on time first: in a burst nothing is written down, and what is, is sent. */
  async #deliver(stopping: AbortSignal): Promise<void> {
    const givesWay = () => stopping.aborted || this.#isBursting;
    if (!givesWay()) await this.fanOut.runOnce(givesWay);
    await this.deliveries.start(stopping);
  }

  /** Every five minutes, and with the next turn where something is left and no burst goes first. */
  #sealing(): (stopping: AbortSignal) => Promise<void> {
    const { seals } = this;
    // Half a turn less: timers are late by a little.
    const apartMs = SEAL_EVERY_MS - SEAL_ON_AFTER_MS / 2;
    let soonestMs = performance.now() + apartMs;
    return async (stopping) => {
      const nowMs = performance.now();
      const isMore = seals.isBehind && !this.#isBursting;
      if (nowMs < soonestMs && !isMore) return;
      soonestMs = nowMs + apartMs;
      await seals.runOnce(() => stopping.aborted || this.#isBursting);
    };
  }

  /**
   * In a burst of closing so long after its last turn began at the earliest, unless it `isUrgent`: orders
   * close on time first, and the shop hears of it right after.
   */
  #inABurstAfter(
    apartMs: number,
    runOnce: (stopping: AbortSignal) => Promise<unknown>,
    isUrgent = async (): Promise<boolean> => false,
  ): (stopping: AbortSignal) => Promise<void> {
    let soonestMs = 0;
    return async (stopping) => {
      const nowMs = performance.now();
      if (this.#isBursting && nowMs < soonestMs && !(await isUrgent())) return;
      soonestMs = nowMs + apartMs;
      await runOnce(stopping);
    };
  }
}
