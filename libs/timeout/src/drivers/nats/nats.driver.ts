import type { ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import type { Clock } from '../../clock';
import type { Alarm, Survey } from '../../timer-driver';
import { alarmIn, type AlarmMessage } from '../alarm-message';
import { type Broker, CallingLink, ListeningLink } from '../broker-link';
import { CALL_TIMEOUT_MS, HoldingDriver } from '../holding-driver';
import { AlarmStream } from './alarm-stream';
import { natsAddress } from './nats-address';
import { NATS_ABILITIES } from './nats.abilities';

export interface NatsDriverOptions {
  /** `nats://user:password@host:4222` (`tls://` for TLS alone), several with commas between them. */
  readonly servers: string;
  /** The stream of the alarms: letters, digits, `_` and `-`. */
  readonly stream: string;
  /** "Now" by the database. */
  readonly databaseClock: Clock;
  readonly onError: (error: Error) => void;
  /** A call gives up when the server is silent for so long. Below 2 s. */
  readonly callTimeoutMs?: number;
}

const BROKER = 'NATS';
const CONNECT_LIMIT_MS = 1_000;
/** What is farther away than this when it comes (a clock was set) is scheduled again. */
const HELD_MS = 5_000;
/** A server that went silent is noticed within twice this time. */
const PING_MS = 5_000;
/** Publishes under way at once: a busy server has taken so many within the limit of a call. */
const AT_ONCE = 100;

interface Link {
  readonly connection: NatsConnection;
  readonly stream: AlarmStream;
}

/**
 * Alarms as scheduled messages of a JetStream: one subject an id, which is why an id is armed once,
 * can be taken back by anybody, and be listed. The server writes what is due for whoever asks first,
 * and again for another when that one dies.
 */
export class NatsDriver extends HoldingDriver<JsMsg> {
  readonly #calls: CallingLink<Link>;
  readonly #rings: ListeningLink<Link>;
  readonly #callTimeoutMs: number;
  #messages: ConsumerMessages | undefined;

  constructor(private readonly options: NatsDriverOptions) {
    super({ name: 'nats', broker: BROKER, abilities: NATS_ABILITIES, ...options });
    const { onError, callTimeoutMs = CALL_TIMEOUT_MS } = options;
    this.#callTimeoutMs = callTimeoutMs;
    const broker: Broker<Link> = {
      name: BROKER,
      open: () => this.#open(),
      hangUp: ({ connection }) => connection.close(),
      // What was acknowledged is on its way: it leaves before the connection is closed.
      goodbye: ({ connection }) => connection.drain(),
    };
    this.#calls = new CallingLink(broker, callTimeoutMs);
    this.#rings = new ListeningLink(broker, {
      listen: ({ stream }, lost) => this.#listen(stream, lost),
      onError,
    });
  }

  async arm(alarms: readonly Alarm[]): Promise<void> {
    this.refuseIfStopped();
    const messages = alarms.map(({ id, at }) => ({ id, atMs: at.getTime() }));
    for (let start = 0; start < messages.length; start += AT_ONCE) {
      const some = messages.slice(start, start + AT_ONCE);
      await this.#calls.ask(({ stream }) =>
        Promise.all(some.map((message) => this.#schedule(stream, message))),
      );
    }
  }

  async disarm(ids: readonly string[]): Promise<void> {
    this.refuseIfStopped();
    this.held.remove(ids);
    for (let start = 0; start < ids.length; start += AT_ONCE) {
      const some = ids.slice(start, start + AT_ONCE);
      await this.#calls.ask(({ stream }) => Promise.all(some.map((id) => stream.remove(id))));
    }
  }

  async survey(): Promise<Survey> {
    this.refuseIfStopped();
    const generation = await this.#calls.ask(({ stream }) => stream.generation());
    return { generation, alarms: () => this.#alarms() };
  }

  async *#alarms(): AsyncGenerator<Alarm> {
    for (let seq: number | undefined = 1; seq !== undefined;) {
      const from: number = seq;
      const { alarms, next } = await this.#calls.ask(({ stream }) => stream.page(from));
      for (const { id, atMs } of alarms) yield { id, at: new Date(atMs) };
      seq = next;
    }
  }

  /** `serverMs` is "now" as the server has it. */
  #schedule(stream: AlarmStream, alarm: AlarmMessage, serverMs = Date.now()): Promise<void> {
    const inMs = alarm.atMs - this.clock.nowMs();
    return stream.schedule(alarm, new Date(serverMs + inMs));
  }

  async #listen(stream: AlarmStream, lost: (why: Error) => void): Promise<void> {
    const consumer = await stream.consumer();
    const messages = await consumer.consume({
      abort_on_missing_resource: true,
      callback: (message) =>
        void this.#receive(stream, message).catch((error: Error) => this.onError(error)),
    });
    this.#messages = messages;
    if (this.isStopping) return messages.stop();
    void messages
      .closed()
      .then((error) =>
        lost(error instanceof Error ? error : new Error('NATS brings no more messages')),
      );
  }

  async #receive(stream: AlarmStream, message: JsMsg): Promise<void> {
    if (this.isStopping) return message.nak();
    const alarm = alarmIn(message.string());
    if (!alarm) {
      // Unanswered it would come again each minute, for ever.
      message.ack();
      throw this.noAlarm();
    }
    if (alarm.atMs - this.clock.nowMs() > HELD_MS) {
      // By the clock of the server that has just written it: ours may be what was wrong. Put off by
      // `nak` it would stay unacknowledged, and so many may be until nothing else comes any more.
      await this.#schedule(stream, alarm, message.time.getTime());
      return message.ack();
    }
    this.hold(alarm, message);
  }

  async #open(): Promise<Link> {
    const connection = await connect({
      ...natsAddress(this.options.servers),
      timeout: CONNECT_LIMIT_MS,
      pingInterval: PING_MS,
      maxPingOut: 2,
      // We begin anew ourselves: what waits in a connection that is away would be sent too late.
      reconnect: false,
    });
    const stream = new AlarmStream(connection, this.options.stream, this.#callTimeoutMs);
    try {
      await stream.open();
    } catch (error) {
      void connection.close();
      throw error;
    }
    return { connection, stream };
  }

  protected listen(): void {
    this.#rings.start();
  }

  protected stopListening(): void {
    this.#rings.stop();
    this.#messages?.stop();
  }

  protected async close(): Promise<void> {
    await this.#rings.close();
    await this.#calls.close();
  }

  protected acknowledge(message: JsMsg): void {
    message.ack();
  }

  protected giveBack(message: JsMsg): void {
    message.nak();
  }
}
