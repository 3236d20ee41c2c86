import * as definition from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb';
import type * as service from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/service_pb';
import { type ClientReadableStream, status as GrpcStatus, type ServiceError } from '@grpc/grpc-js';
import { withTimeLimit } from '../../time-limit';
import { consumerSettings, type Place, receiveRequest } from './rocketmq-messages';
import { problemOf, type RocketmqPeer, type Telemetry } from './rocketmq-peer';

export interface InboxParts {
  readonly peer: RocketmqPeer;
  readonly queue: definition.MessageQueue;
  readonly place: Place;
  /** What came; nothing more is asked for before it resolves. */
  readonly onMessages: (messages: readonly definition.Message[]) => Promise<void>;
  /** Told once: nothing comes through this any more. */
  readonly onLost: (error: Error) => void;
}

/** The proxy grants between 5 and 20 s. */
const POLL_MS = 10_000;
/** The broker gives a message that was not acknowledged to somebody else after this time. */
const HIDDEN_MS = 60_000;
/** As many as a proxy gives at once. */
const BATCH = 32;
const CALL_LIMIT_MS = 1_500;
/** A proxy forgets who does not greet it. */
const HEARTBEAT_MS = 10_000;

/** What one broker of the topic has for us, poll after poll. */
export class RocketmqInbox {
  readonly #telemetry: Telemetry;
  #poll: ClientReadableStream<service.ReceiveMessageResponse> | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #polling: Promise<void> | undefined;
  #closed = false;

  constructor(private readonly parts: InboxParts) {
    this.#telemetry = parts.peer.telemetry();
    // One that has ended has nothing to say, and must not end the process with it.
    this.#telemetry.on('error', (error) => this.#lose(error));
    this.#telemetry.on('end', () => this.#lose(new Error('RocketMQ has hung up')));
  }

  /** Resolves when the proxy knows us. */
  async open(): Promise<void> {
    const { peer, place } = this.parts;
    const known = new Promise<void>((resolve) => this.#telemetry.once('data', () => resolve()));
    this.#telemetry.write(consumerSettings(place, peer.endpoint, POLL_MS));
    await withTimeLimit(known, CALL_LIMIT_MS, 'RocketMQ did not take our settings');
    const greet = (): void =>
      void peer.heartbeat(place.group, CALL_LIMIT_MS).catch((error: Error) => this.#lose(error));
    this.#heartbeat = setInterval(greet, HEARTBEAT_MS);
    greet();
    this.#polling = this.#receive().catch((error: Error) => this.#lose(error));
  }

  /** Asks for nothing more. Resolves when what came was handed over. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#heartbeat);
    this.#poll?.cancel();
    this.#telemetry.cancel();
    await this.#polling;
  }

  async #receive(): Promise<void> {
    const { queue, place, onMessages } = this.parts;
    const limits = { batch: BATCH, pollMs: POLL_MS, hiddenMs: HIDDEN_MS };
    while (!this.#closed) {
      const messages = await this.#take(receiveRequest(place, queue, limits));
      if (messages.length > 0) await onMessages(messages);
    }
  }

  /** What came before a poll was cut off counts: the broker has handed it out. */
  async #take(request: service.ReceiveMessageRequest): Promise<definition.Message[]> {
    const poll = this.parts.peer.receive(request, POLL_MS + CALL_LIMIT_MS);
    this.#poll = poll;
    const messages: definition.Message[] = [];
    let problem: Error | undefined;
    poll.on('data', (answer: service.ReceiveMessageResponse) => {
      const [message, status] = [answer.getMessage(), answer.getStatus()];
      if (message) messages.push(message);
      if (status && !nothingCame(status)) problem = problemOf(status);
    });
    await new Promise<void>((resolve) => {
      poll.on('error', (error: ServiceError) => {
        if (error.code !== GrpcStatus.CANCELLED) problem = error;
        resolve();
      });
      poll.on('end', resolve);
    });
    if (problem && messages.length === 0) throw problem;
    return messages;
  }

  #lose(error: Error): void {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#heartbeat);
    this.#poll?.cancel();
    this.#telemetry.cancel();
    this.parts.onLost(error);
  }
}

/** A long poll that ended without any message. */
function nothingCame(status: definition.Status): boolean {
  return status.getCode() === definition.Code.MESSAGE_NOT_FOUND;
}
