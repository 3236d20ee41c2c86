import { randomUUID } from 'node:crypto';
import * as definition from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb';
import type { RocketmqAddress } from './rocketmq-address';
import { RocketmqInbox } from './rocketmq-inbox';
import type { Place } from './rocketmq-messages';
import { endpointOf } from './rocketmq-outbox';
import { RocketmqPeer } from './rocketmq-peer';

export interface ConsumerParts {
  readonly address: RocketmqAddress;
  readonly place: Place;
  readonly onMessages: (endpoint: string, messages: readonly definition.Message[]) => Promise<void>;
  readonly onError: (error: Error) => void;
}

const CALL_LIMIT_MS = 1_500;
/** New brokers, and those that moved, are found within this time. */
const ROUTE_MS = 30_000;
const RETRY_MS = [100, 200, 400, 800] as const;
const { READ, READ_WRITE } = definition.Permission;

/** Listens to every broker of the topic, and begins anew whenever one is lost. */
export class RocketmqConsumer {
  /** The same for all proxies: it is one consumer of the group. */
  readonly #clientId = `lastcall-${randomUUID()}`;
  #peers: RocketmqPeer[] = [];
  #inboxes: RocketmqInbox[] = [];
  #brokers = '';
  #opening: Promise<unknown> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  /** Ends when a broker is lost: what was begun in an earlier one decides nothing any more. */
  #round = 0;
  #stopped = false;

  constructor(private readonly parts: ConsumerParts) {}

  start(): void {
    this.#begin(() => this.#open());
  }

  /** Resolves when nothing more comes; {@link hangUp} then. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#opening;
    await Promise.all(this.#inboxes.map((inbox) => inbox.close()));
  }

  async hangUp(limitMs: number): Promise<void> {
    const { group } = this.parts.place;
    const goodbyes = this.#peers.map((peer) => peer.sayGoodbye(group, limitMs));
    await Promise.allSettled(goodbyes);
    for (const peer of this.#peers) peer.close();
  }

  #begin(what: () => Promise<void>): void {
    const round = this.#round;
    this.#opening = what().then(
      () => round === this.#round && this.#lookLater(),
      (error: Error) => round === this.#round && this.#again(error),
    );
  }

  async #open(): Promise<void> {
    const round = this.#round;
    const queues = await this.#queues();
    this.#brokers = [...queues.keys()].join();
    for (const [, queue] of queues) if (round === this.#round) await this.#listen(queue);
  }

  /** One queue of each broker stands for all that it has. */
  async #queues(): Promise<Map<string, definition.MessageQueue>> {
    let failure: unknown;
    for (const endpoint of this.parts.address.endpoints) {
      const peer = this.#peer(endpoint);
      try {
        const readable = (await peer.queryRoute(CALL_LIMIT_MS)).filter((queue) =>
          [READ, READ_WRITE].some((one) => one === queue.getPermission()),
        );
        if (readable.length === 0) throw new Error('Nobody may read the topic');
        return new Map(readable.map((queue) => [queue.getBroker()?.getName() ?? '', queue]));
      } catch (error) {
        failure = error;
      } finally {
        peer.close();
      }
    }
    throw failure;
  }

  async #listen(queue: definition.MessageQueue): Promise<void> {
    if (this.#stopped) return;
    const { place, onMessages } = this.parts;
    const peer = this.#peer(endpointOf(queue));
    this.#peers.push(peer);
    const inbox = new RocketmqInbox({
      ...{ peer, queue, place },
      onMessages: (messages) => onMessages(peer.endpoint, messages),
      onLost: (error) => this.#again(error),
    });
    this.#inboxes.push(inbox);
    await inbox.open();
  }

  async #lookForBrokers(): Promise<void> {
    const brokers = [...(await this.#queues()).keys()].join();
    if (brokers !== this.#brokers) throw new Error('The topic has moved to other brokers');
  }

  #lookLater(): void {
    this.#failures = 0;
    this.#later(ROUTE_MS, () => this.#lookForBrokers());
  }

  #again(error: Error): void {
    if (this.#stopped) return;
    this.#round += 1;
    this.parts.onError(error);
    for (const inbox of this.#inboxes) void inbox.close();
    for (const peer of this.#peers) peer.close();
    [this.#peers, this.#inboxes] = [[], []];
    const retryMs = RETRY_MS[Math.min(this.#failures++, RETRY_MS.length - 1)] as number;
    this.#later(retryMs, () => this.#open());
  }

  #later(delayMs: number, what: () => Promise<void>): void {
    clearTimeout(this.#timer);
    if (this.#stopped) return;
    this.#timer = setTimeout(() => this.#begin(what), delayMs);
  }

  #peer(endpoint: string): RocketmqPeer {
    return new RocketmqPeer(endpoint, this.parts.address, this.#clientId);
  }
}
