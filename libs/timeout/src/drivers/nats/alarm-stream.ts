import {
  AckPolicy,
  type Consumer,
  jetstream,
  type JetStreamClient,
  type JetStreamManager,
  jetstreamManager,
  JetStreamApiError,
  JetStreamError,
  RetentionPolicy,
  StorageType,
  type StoredMsg,
} from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { alarmIn, type AlarmMessage } from '../alarm-message';
import { MEND_SERVER, MEND_STREAM, serverSchedules } from './nats-versions';

/** Some of the alarms that wait. */
export interface Page {
  readonly alarms: readonly AlarmMessage[];
  /** Where the next page begins; undefined: this was the last. */
  readonly next: number | undefined;
}

const CONSUMER = 'ring';
/** The server gives what was not acknowledged to somebody else after this time. */
const ACK_WAIT_NS = 60_000_000_000;
/** "wrong last sequence": the subject of this id has a schedule already. */
const ARMED_ALREADY = 10_071;
const NOT_FOUND = 404;
const PAGE = 500;

/**
 * A stream with a subject for each alarm, whose one message is the schedule, and a subject for what
 * is due, which the server writes when the time has come and takes away when it is acknowledged.
 */
export class AlarmStream {
  readonly #client: JetStreamClient;
  #manager: JetStreamManager | undefined;

  constructor(
    private readonly connection: NatsConnection,
    readonly name: string,
    private readonly limitMs: number,
  ) {
    this.#client = jetstream(connection, { timeout: limitMs });
  }

  /**
   * Makes what is not there yet; an operator's stream, with copies perhaps, is left as it is.
   * @throws where the server or the stream would keep alarms, and never ring them
   */
  async open(): Promise<void> {
    const { version } = this.connection.info ?? {};
    if (!serverSchedules(version)) throw new Error(`NATS ${version}: ${MEND_SERVER}`);
    const manager = await jetstreamManager(this.connection, { timeout: this.limitMs });
    this.#manager = manager;
    try {
      const { config } = await manager.streams.info(this.name);
      if (!config.allow_msg_schedules) {
        throw new Error(`the stream ${this.name} schedules nothing: ${MEND_STREAM}`);
      }
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await manager.streams.add({
        name: this.name,
        subjects: [this.#subjectOf('*'), this.#due],
        storage: StorageType.File,
        retention: RetentionPolicy.Workqueue,
        allow_msg_schedules: true,
        allow_direct: true,
      });
    }
    await manager.consumers.add(this.name, {
      durable_name: CONSUMER,
      filter_subject: this.#due,
      ack_policy: AckPolicy.Explicit,
      ack_wait: ACK_WAIT_NS,
      max_ack_pending: PAGE * 4,
    });
  }

  /** When it was made: one that was lost and made again has another time. */
  async generation(): Promise<string> {
    return String((await this.#opened.streams.info(this.name)).created);
  }

  consumer(): Promise<Consumer> {
    return this.#client.consumers.get(this.name, CONSUMER);
  }

  /** Rings at `deliverAt` by the server's clock. An id that is armed is left as it is. */
  async schedule(alarm: AlarmMessage, deliverAt: Date): Promise<void> {
    try {
      await this.#client.publish(this.#subjectOf(alarm.id), JSON.stringify(alarm), {
        timeout: this.limitMs,
        schedule: { specification: deliverAt, target: this.#due },
        expect: { lastSubjectSequence: 0 },
      });
    } catch (error) {
      if (error instanceof JetStreamApiError && error.code === ARMED_ALREADY) return;
      throw error;
    }
  }

  async remove(id: string): Promise<void> {
    await this.#opened.streams.purge(this.name, { filter: this.#subjectOf(id) });
  }

  /**
   * The first of what waits from here on, but for what somebody else has put there. Has no limit
   * of time: that its connection was closed meanwhile, the client tells nobody.
   */
  async page(seq: number): Promise<Page> {
    const messages = await this.#read(seq);
    const alarms = messages.map((message) => alarmIn(message.string()));
    const last = messages.length < PAGE ? undefined : messages.at(-1);
    return { alarms: alarms.filter((alarm) => alarm !== undefined), next: last && last.seq + 1 };
  }

  async #read(seq: number): Promise<StoredMsg[]> {
    const page: StoredMsg[] = [];
    const wanted = { seq, batch: PAGE, next_by_subj: this.#subjectOf('*') };
    try {
      const messages = await this.#opened.direct.getBatch(this.name, wanted);
      for await (const message of messages) page.push(message);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    return page;
  }

  get #opened(): JetStreamManager {
    if (!this.#manager) throw new Error('The stream was not opened');
    return this.#manager;
  }

  get #due(): string {
    return `${this.name}.due`;
  }

  #subjectOf(id: string): string {
    return `${this.name}.at.${id}`;
  }
}

/** Told by the API as a status, and by a direct read as a code. */
function isNotFound(error: unknown): boolean {
  if (error instanceof JetStreamApiError) return error.status === NOT_FOUND;
  return error instanceof JetStreamError && 'code' in error && error.code === NOT_FOUND;
}
