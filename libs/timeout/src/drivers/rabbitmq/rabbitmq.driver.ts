import type { ChannelModel, ConfirmChannel, ConsumeMessage } from 'amqplib';
import type { Clock } from '../../clock';
import { withTimeLimit } from '../../time-limit';
import type { Alarm, Survey } from '../../timer-driver';
import { alarmIn, type AlarmMessage } from '../alarm-message';
import { AlarmStoreError } from '../alarm-store.error';
import { type Broker, CallingLink, ListeningLink } from '../broker-link';
import { CALL_TIMEOUT_MS, HoldingDriver } from '../holding-driver';
import { connectRabbitmq, hangUp } from './connect-rabbitmq';
import { LevelQueues } from './level-queues';
import { RABBITMQ_ABILITIES } from './rabbitmq.abilities';

export interface RabbitmqDriverOptions {
  /** `amqp://` or `amqps://`. */
  readonly url: string;
  /** Stands before the names of all queues. */
  readonly prefix: string;
  /** "Now" by the database. */
  readonly databaseClock: Clock;
  readonly onError: (error: Error) => void;
  /** `arm` and `survey` give up when the broker is silent for so long. Below 2 s. */
  readonly callTimeoutMs?: number;
}

const BROKER = 'RabbitMQ';
const CONNECT_LIMIT_MS = 1_000;
/** A broker that went silent is noticed within twice this time. */
const HEARTBEAT_S = 5;
/** Alarms held here for their last second, and in rings. */
const PREFETCH = 2_000;
const CANCEL_LIMIT_MS = 500;

interface Link {
  readonly model: ChannelModel;
  readonly channel: ConfirmChannel;
  readonly queues: LevelQueues;
}

/** A message that is held here, and the channel that wants to hear that it is done. */
interface Delivery {
  readonly channel: ConfirmChannel;
  readonly message: ConsumeMessage;
}

/**
 * Alarms as messages that wait in queues with a fixed time to live (see {@link LevelQueues}). One
 * that comes out too early for its instant goes into the queue of what is left, confirmed before
 * the first one is acknowledged; its last second is waited for here, unacknowledged: when this
 * process dies, the broker gives it to another.
 */
export class RabbitmqDriver extends HoldingDriver<Delivery> {
  readonly #calls: CallingLink<Link>;
  readonly #rings: ListeningLink<Link>;
  /** Ends what the broker brings. */
  #cancel: (() => Promise<unknown>) | undefined;

  constructor(private readonly options: RabbitmqDriverOptions) {
    super({ name: 'rabbitmq', broker: BROKER, abilities: RABBITMQ_ABILITIES, ...options });
    const { onError, callTimeoutMs = CALL_TIMEOUT_MS } = options;
    const broker: Broker<Link> = {
      name: BROKER,
      open: (onLost) => this.#open(onLost),
      hangUp: ({ model }) => hangUp(model),
      goodbye,
    };
    this.#calls = new CallingLink(broker, callTimeoutMs);
    this.#rings = new ListeningLink(broker, { listen: (link) => this.#listen(link), onError });
  }

  async arm(alarms: readonly Alarm[]): Promise<void> {
    this.refuseIfStopped();
    if (alarms.length === 0) return;
    const messages = alarms.map(({ id, at }) => ({ id, atMs: at.getTime() }));
    await this.#calls.ask(({ queues }) => queues.publish(messages, this.clock.nowMs()));
  }

  /** Cannot be done: what is told to disarm rings for nothing. */
  async disarm(): Promise<void> {
    this.refuseIfStopped();
  }

  async survey(): Promise<Survey> {
    this.refuseIfStopped();
    const generation = await this.#calls.ask(({ queues }) => queues.generation());
    return this.unlisted(generation);
  }

  async #listen({ channel, queues }: Link): Promise<void> {
    await queues.declareDue();
    await channel.prefetch(PREFETCH);
    const { consumerTag } = await channel.consume(queues.due, (message) => {
      // The broker has cancelled us: the queue was deleted.
      if (!message) void channel.close().catch(() => undefined);
      else void this.#receive({ channel, message }, queues).catch(this.onError);
    });
    this.#cancel = () => channel.cancel(consumerTag);
    if (this.isStopping) await this.#cancel();
  }

  /** Each message is held until it has rung, or answered here: once. */
  async #receive(delivery: Delivery, queues: LevelQueues): Promise<void> {
    if (this.isStopping) return this.giveBack(delivery);
    const alarm = alarmIn(delivery.message.content.toString());
    if (!alarm) {
      // Given back it would come again at once, for ever.
      this.acknowledge(delivery);
      throw this.noAlarm();
    }
    let isSentOn: boolean;
    try {
      isSentOn = await this.#sendOn(alarm, queues);
    } catch (error) {
      this.giveBack(delivery);
      throw error;
    }
    if (isSentOn) return this.acknowledge(delivery);
    this.hold(alarm, delivery);
  }

  /** True when it has longer to go than is waited for here, and waits in another queue. */
  async #sendOn(alarm: AlarmMessage, queues: LevelQueues): Promise<boolean> {
    const nowMs = this.clock.nowMs();
    if ((await queues.queueFor(alarm.atMs - nowMs)) === queues.due) return false;
    await queues.publish([alarm], nowMs);
    return true;
  }

  async #open(onLost: () => void): Promise<Link> {
    const url = new URL(this.options.url);
    if (!url.searchParams.has('heartbeat')) url.searchParams.set('heartbeat', `${HEARTBEAT_S}`);
    const model = await connectRabbitmq(url.href, { timeout: CONNECT_LIMIT_MS, noDelay: true });
    model.on('error', (error: Error) => this.isStopping || this.onError(error));
    model.on('close', () => onLost());
    // The call that published hears nothing, and gives up.
    model.on('blocked', (reason: string) =>
      this.onError(new AlarmStoreError(`RabbitMQ takes no messages: ${reason}`)),
    );
    const channel = await model.createConfirmChannel();
    channel.on('error', (error: Error) => this.isStopping || this.onError(error));
    channel.on('close', () => onLost());
    return { model, channel, queues: new LevelQueues(channel, this.options.prefix) };
  }

  protected listen(): void {
    this.#rings.start();
  }

  /** Given back before, alarms would come here again. */
  protected async stopListening(): Promise<void> {
    this.#rings.stop();
    await withTimeLimit(Promise.resolve(this.#cancel?.()), CANCEL_LIMIT_MS, 'No answer').catch(
      () => undefined,
    );
  }

  protected async close(): Promise<void> {
    await this.#rings.close();
    await this.#calls.close();
  }

  protected acknowledge({ channel, message }: Delivery): void {
    try {
      channel.ack(message);
    } catch {
      // The channel is closed: the broker gives the message to somebody again.
    }
  }

  protected giveBack({ channel, message }: Delivery): void {
    try {
      channel.nack(message, false, true);
    } catch {
      // The channel is closed: that gives it back as well.
    }
  }
}

/** The channel first: it answers when the broker has heard all that was acknowledged on it. */
async function goodbye({ channel, model }: Link): Promise<void> {
  await channel.close();
  await model.close();
}
