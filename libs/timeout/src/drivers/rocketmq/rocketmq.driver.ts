import { randomUUID } from 'node:crypto';
import type { Message } from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb';
import type { Clock } from '../../clock';
import { withTimeLimit } from '../../time-limit';
import type { Alarm, OnRing, Survey, TimerDriver } from '../../timer-driver';
import { AlarmStoreError } from '../alarm-store.error';
import { HeldAlarms } from '../held-alarms';
import { RingLoop } from '../ring-loop';
import type { RocketmqAddress } from './rocketmq-address';
import { RocketmqConsumer } from './rocketmq-consumer';
import {
  acknowledgement,
  hiding,
  type Place,
  type Receipt,
  receiptOf,
  type Received,
  received,
} from './rocketmq-messages';
import { RocketmqOutbox } from './rocketmq-outbox';
import { ROCKETMQ_ABILITIES } from './rocketmq.abilities';

export interface RocketmqDriverOptions {
  readonly address: RocketmqAddress;
  /** Names the consumer group and the tag of our messages: letters, digits, `_` and `-`. */
  readonly group: string;
  /** "Now" by the database. */
  readonly databaseClock: Clock;
  readonly onError: (error: Error) => void;
  /** A call gives up when the proxy is silent for so long. Below 2 s. */
  readonly callTimeoutMs?: number;
}

const CALL_TIMEOUT_MS = 1_500;
/** What is farther away than this when it comes has been on its way only: it is sent again. */
const HELD_MS = 5_000;
const POLL_MS = 1_000;
/** Given back, a message goes to somebody else at once. */
const GIVEN_BACK_MS = 10;
const GOODBYE_LIMIT_MS = 500;

/** So often is tried to tell the broker that an alarm has rung, a second apart. */
const TELL_TRIES = 20;
const TELL_AGAIN_MS = 1_000;

/** Of a message that is held here: the proxy that wants to hear that it is done, and by what name. */
interface Delivery {
  readonly endpoint: string;
  readonly receipt: Receipt;
}

/**
 * Alarms as timed messages of RocketMQ 5. The broker rounds to its precision of a second, so each
 * is asked for a little early, and waited for here, unacknowledged: when this process dies, the
 * broker gives it to another. What is farther away than a broker keeps goes there more than once.
 */
export class RocketmqDriver implements TimerDriver {
  readonly name = 'rocketmq';
  readonly abilities = ROCKETMQ_ABILITIES;
  readonly #place: Place;
  readonly #loop: RingLoop;
  readonly #held: HeldAlarms<Delivery>;
  readonly #outbox: RocketmqOutbox;
  readonly #consumer: RocketmqConsumer;
  readonly #generation = randomUUID();
  readonly #telling = new Set<Promise<void>>();
  #stopping: Promise<void> | undefined;

  constructor(private readonly options: RocketmqDriverOptions) {
    const { address, group, databaseClock: clock, onError } = options;
    this.#place = { topic: address.topic, group, tag: group };
    this.#held = new HeldAlarms(clock, (delivery) => this.#acknowledge(delivery));
    this.#loop = new RingLoop(this.#held, { clock, onError, longestWaitMs: () => POLL_MS });
    this.#outbox = new RocketmqOutbox(address, this.#place, clock);
    this.#consumer = new RocketmqConsumer({
      address,
      place: this.#place,
      onMessages: (endpoint, messages) => this.#receive(endpoint, messages),
      onError,
    });
  }

  /** Resolves at once, also while the broker is away: ringing begins when it is there. */
  async start(onRing: OnRing): Promise<void> {
    this.#refuseIfStopped();
    if (this.#loop.isStarted) return;
    this.#loop.start(onRing);
    this.#consumer.start();
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async arm(alarms: readonly Alarm[]): Promise<void> {
    this.#refuseIfStopped();
    const messages = alarms.map(({ id, at }) => ({ id, atMs: at.getTime() }));
    await this.#ask((limitMs) => this.#outbox.send(messages, limitMs));
  }

  /** Those that this process has armed; what others have armed rings for nothing. */
  async disarm(ids: readonly string[]): Promise<void> {
    this.#refuseIfStopped();
    this.#held.remove(ids);
    await this.#ask((limitMs) => this.#outbox.recall(ids, limitMs));
  }

  /** Asks for the route only: that the store has lost its data cannot be told from what is left. */
  async survey(): Promise<Survey> {
    this.#refuseIfStopped();
    await this.#ask((limitMs) => this.#outbox.route(limitMs));
    return {
      generation: this.#generation,
      // eslint-disable-next-line require-yield -- there is nothing to list
      async *alarms() {
        throw new AlarmStoreError('Alarms in RocketMQ cannot be listed');
      },
    };
  }

  async #receive(endpoint: string, messages: readonly Message[]): Promise<void> {
    const nowMs = this.options.databaseClock.nowMs();
    const far: { readonly alarm: Received; readonly delivery: Delivery }[] = [];
    for (const message of messages) {
      const [alarm, delivery] = [received(message), { endpoint, receipt: receiptOf(message) }];
      if (!alarm) this.#drop(delivery);
      else if (alarm.atMs - nowMs > HELD_MS) far.push({ alarm, delivery });
      else this.#hold(alarm, delivery);
    }
    if (far.length === 0) return;
    const again = far.map(({ alarm }) => alarm);
    await this.#outbox.send(again, CALL_TIMEOUT_MS);
    for (const { delivery } of far) this.#acknowledge(delivery);
  }

  #hold({ id, atMs }: Received, delivery: Delivery): void {
    if (this.#stopping) this.#giveBack(delivery);
    else if (this.#outbox.tookBack(delivery.receipt.messageId)) this.#acknowledge(delivery);
    else this.#held.hold({ id, at: new Date(atMs) }, delivery);
    this.#loop.lookAt(atMs);
  }

  /** Unacknowledged it would come again each minute, to one worker after the other. */
  #drop(delivery: Delivery): void {
    this.#acknowledge(delivery);
    const why = 'A message in RocketMQ is no alarm, and was dropped';
    this.options.onError(new AlarmStoreError(why));
  }

  #acknowledge({ endpoint, receipt }: Delivery): void {
    const request = acknowledgement(this.#place, receipt);
    this.#tell(() => this.#outbox.peer(endpoint).acknowledge(request, CALL_TIMEOUT_MS));
  }

  #giveBack({ endpoint, receipt }: Delivery): void {
    const request = hiding(this.#place, receipt, GIVEN_BACK_MS);
    this.#tell(() => this.#outbox.peer(endpoint).hide(request, CALL_TIMEOUT_MS));
  }

  /** What the broker does not hear in the end it finds out: it gives the message to somebody again. */
  #tell(call: () => Promise<void>): void {
    const telling = this.#tellTries(call).finally(() => this.#telling.delete(telling));
    this.#telling.add(telling);
  }

  async #tellTries(call: () => Promise<void>): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await call();
      } catch (error) {
        if (this.#stopping) return;
        if (tries === TELL_TRIES) return this.options.onError(error as Error);
        await new Promise((resolve) => setTimeout(resolve, TELL_AGAIN_MS).unref());
      }
    }
  }

  async #ask<T>(call: (limitMs: number) => Promise<T>): Promise<T> {
    const limitMs = this.options.callTimeoutMs ?? CALL_TIMEOUT_MS;
    try {
      return await call(limitMs);
    } catch (error) {
      throw new AlarmStoreError('The alarm store (RocketMQ) did not take a call', error);
    }
  }

  async #stop(): Promise<void> {
    const stopped = this.#consumer.stop();
    // Others ring what is held here; what rings already is waited for.
    this.#held.giveBack((delivery) => this.#giveBack(delivery));
    await Promise.all([this.#loop.stop(), stopped]);
    const told = Promise.all(this.#telling);
    await withTimeLimit(told, GOODBYE_LIMIT_MS, 'No answer').catch(() => undefined);
    await this.#consumer.hangUp(GOODBYE_LIMIT_MS);
    this.#outbox.close();
    this.#held.clear();
  }

  #refuseIfStopped(): void {
    if (this.#stopping) throw new AlarmStoreError('The RocketMQ driver was stopped');
  }
}
