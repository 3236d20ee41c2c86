import { randomUUID } from 'node:crypto';
import type { ConfirmChannel, GetMessage } from 'amqplib';
import type { AlarmMessage } from '../alarm-message';

/** 2^27 s are four years; what is farther goes through the last level more than once. */
const LEVELS = 28;
/** A message leaves its queue a little late: the rest is waited for where it is rung. */
const LEAVES_LATE_MS = 300;
const MARKER_TRIES = 5;
const SEND_TRIES = 6;
const SEND_AGAIN_MS = 100;

/**
 * A queue a level, whose messages all leave after 1, 2, 4 ... seconds, in the order in which they
 * came: with a time to live of each message's own, a short one would wait behind a long one. What
 * leaves goes to `due`. Quorum queues, which hand a message on only when the next has it.
 */
export class LevelQueues {
  /** Queues that this connection has declared. */
  readonly #declared = new Set<string>();
  /** Messages that came back, as their queue was gone. */
  #returns = 0;

  constructor(
    private readonly channel: ConfirmChannel,
    private readonly prefix: string,
  ) {
    // A queue that somebody has deleted: it is declared anew with the next try.
    channel.on('return', () => {
      this.#declared.clear();
      this.#returns += 1;
    });
  }

  get due(): string {
    return `${this.prefix}.due`;
  }

  async declareDue(): Promise<void> {
    if (this.#declared.has(this.due)) return;
    await this.channel.assertQueue(this.due, {
      durable: true,
      arguments: { 'x-queue-type': 'quorum' },
    });
    this.#declared.add(this.due);
  }

  /** Where a message with so long to go waits next: never longer than that. */
  async queueFor(inMs: number): Promise<string> {
    await this.declareDue();
    const seconds = (inMs - LEAVES_LATE_MS) / 1_000;
    if (seconds < 1) return this.due;
    const level = Math.min(LEVELS - 1, Math.floor(Math.log2(seconds)));
    const name = `${this.prefix}.${2 ** level}s`;
    if (this.#declared.has(name)) return name;
    await this.channel.assertQueue(name, {
      durable: true,
      arguments: {
        'x-queue-type': 'quorum',
        'x-message-ttl': 2 ** level * 1_000,
        'x-dead-letter-exchange': '',
        'x-dead-letter-routing-key': this.due,
        'x-dead-letter-strategy': 'at-least-once',
        // At least once is given with this only: a full queue refuses, and drops nothing.
        'x-overflow': 'reject-publish',
      },
    });
    this.#declared.add(name);
    return name;
  }

  /** Resolves when the broker has them on disk. Rejects when a queue is gone or refuses. */
  async publish(messages: readonly AlarmMessage[], nowMs: number): Promise<void> {
    const queues = await Promise.all(messages.map(({ atMs }) => this.queueFor(atMs - nowMs)));
    const before = this.#returns;
    await Promise.all(
      messages.map((message, index) => this.#send(queues[index] as string, message)),
    );
    if (this.#returns > before) throw new Error('a queue was gone');
  }

  /** A queue that was just declared, or has just lost its leader, refuses for a moment. */
  async #send(queue: string, message: AlarmMessage): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#sendOnce(queue, JSON.stringify(message));
      } catch (error) {
        if (tries === SEND_TRIES) throw error;
        await new Promise((resolve) => setTimeout(resolve, SEND_AGAIN_MS));
      }
    }
  }

  #sendOnce(queue: string, text: string): Promise<void> {
    const options = { persistent: true, mandatory: true };
    return new Promise((resolve, reject) => {
      this.channel.publish('', queue, Buffer.from(text), options, (error: Error | null) =>
        error ? reject(error) : resolve(),
      );
    });
  }

  /** A message in a queue of its own, that is gone when the broker lost its data. */
  async generation(): Promise<string> {
    const queue = `${this.prefix}.generation`;
    await this.channel.assertQueue(queue, {
      durable: true,
      arguments: { 'x-queue-type': 'quorum' },
    });
    for (let tries = 0; tries < MARKER_TRIES; tries++) {
      const markers = await this.#takeAll(queue);
      const [generation] = markers.map(({ content }) => content.toString()).sort();
      if (generation !== undefined) {
        // Given back it would be dropped after 20 times (RabbitMQ 4). Of several, as two processes
        // have made them at the same moment, one is left.
        const sent = this.#sendOnce(queue, generation);
        for (const marker of markers) this.channel.ack(marker);
        await sent;
        return generation;
      }
      // Somebody else looks at it just now, perhaps.
      await new Promise((resolve) => setTimeout(resolve, 10 + Math.random() * 30));
    }
    const generation = randomUUID();
    await this.#sendOnce(queue, generation);
    return generation;
  }

  async #takeAll(queue: string): Promise<GetMessage[]> {
    const taken: GetMessage[] = [];
    for (;;) {
      const message = await this.channel.get(queue, { noAck: false });
      if (!message) return taken;
      taken.push(message);
    }
  }
}
