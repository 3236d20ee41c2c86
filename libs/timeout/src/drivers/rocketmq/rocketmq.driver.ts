import { randomUUID } from 'node:crypto';
import type { Message } from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb';
import type { Clock } from '../../clock';
import { withTimeLimit } from '../../time-limit';
import type { Alarm, Survey } from '../../timer-driver';
import { AlarmStoreError } from '../alarm-store.error';
import { CALL_TIMEOUT_MS, HoldingDriver } from '../holding-driver';
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

const BROKER = 'RocketMQ';
/** What is farther away than this when it comes has been on its way only: it is sent again. */
const HELD_MS = 5_000;
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
export class RocketmqDriver extends HoldingDriver<Delivery> {
  readonly #place: Place;
  readonly #outbox: RocketmqOutbox;
  readonly #consumer: RocketmqConsumer;
  readonly #generation = randomUUID();
  readonly #telling = new Set<Promise<void>>();
  #stopped: Promise<void> | undefined;

  constructor(private readonly options: RocketmqDriverOptions) {
    super({ name: 'rocketmq', broker: BROKER, abilities: ROCKETMQ_ABILITIES, ...options });
    const { address, group, databaseClock: clock, onError } = options;
    this.#place = { topic: address.topic, group, tag: group };
    this.#outbox = new RocketmqOutbox(address, this.#place, clock);
    this.#consumer = new RocketmqConsumer({
      address,
      place: this.#place,
      onMessages: (endpoint, messages) => this.#receive(endpoint, messages),
      onError,
    });
  }

  async arm(alarms: readonly Alarm[]): Promise<void> {
    this.refuseIfStopped();
    const messages = alarms.map(({ id, at }) => ({ id, atMs: at.getTime() }));
    await this.#ask((limitMs) => this.#outbox.send(messages, limitMs));
  }

  /** Those that this process has armed; what others have armed rings for nothing. */
  async disarm(ids: readonly string[]): Promise<void> {
    this.refuseIfStopped();
    this.held.remove(ids);
    await this.#ask((limitMs) => this.#outbox.recall(ids, limitMs));
  }

  /** Asks for the route only: that the store has lost its data cannot be told from what is left. */
  async survey(): Promise<Survey> {
    this.refuseIfStopped();
    await this.#ask((limitMs) => this.#outbox.route(limitMs));
    return this.unlisted(this.#generation);
  }

  async #receive(endpoint: string, messages: readonly Message[]): Promise<void> {
    const nowMs = this.clock.nowMs();
    const far: { readonly alarm: Received; readonly delivery: Delivery }[] = [];
    for (const message of messages) {
      const [alarm, delivery] = [received(message), { endpoint, receipt: receiptOf(message) }];
      if (!alarm) this.#drop(delivery);
      else if (alarm.atMs - nowMs > HELD_MS) far.push({ alarm, delivery });
      else this.#take(alarm, delivery);
    }
    if (far.length === 0) return;
    const again = far.map(({ alarm }) => alarm);
    await this.#outbox.send(again, CALL_TIMEOUT_MS);
    for (const { delivery } of far) this.acknowledge(delivery);
  }

  #take(alarm: Received, delivery: Delivery): void {
    if (this.isStopping) this.giveBack(delivery);
    else if (this.#outbox.tookBack(delivery.receipt.messageId)) this.acknowledge(delivery);
    else this.hold(alarm, delivery);
  }

  /** Unacknowledged it would come again each minute, to one worker after the other. */
  #drop(delivery: Delivery): void {
    this.acknowledge(delivery);
    this.onError(this.noAlarm());
  }

  protected acknowledge({ endpoint, receipt }: Delivery): void {
    const request = acknowledgement(this.#place, receipt);
    this.#tell(() => this.#outbox.peer(endpoint).acknowledge(request, CALL_TIMEOUT_MS));
  }

  protected giveBack({ endpoint, receipt }: Delivery): void {
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
        if (this.isStopping) return;
        if (tries === TELL_TRIES) return this.onError(error as Error);
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

  protected listen(): void {
    this.#consumer.start();
  }

  /** Not awaited: what comes meanwhile is given back, and a broker may be long in answering. */
  protected stopListening(): void {
    this.#stopped = this.#consumer.stop().catch(this.onError);
  }

  protected async close(): Promise<void> {
    await this.#stopped;
    const told = Promise.all(this.#telling);
    await withTimeLimit(told, GOODBYE_LIMIT_MS, 'No answer').catch(() => undefined);
    await this.#consumer.hangUp(GOODBYE_LIMIT_MS);
    this.#outbox.close();
  }
}
