import { randomUUID } from 'node:crypto';
import * as definition from 'rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb';
import type { Clock } from '../../clock';
import { withTimeLimit } from '../../time-limit';
import type { AlarmMessage } from '../alarm-message';
import type { RocketmqAddress } from './rocketmq-address';
import { type Place, type Received, timedMessage } from './rocketmq-messages';
import { RocketmqPeer } from './rocketmq-peer';

interface Sent {
  readonly atMs: number;
  readonly messageId: string;
  /** '' where there is nothing to recall: it was delivered at once. */
  readonly handle: string;
}

/** One that came early is put off by the clock of its broker: ours may be what was wrong. */
type Outgoing = AlarmMessage & Partial<Pick<Received, 'storedMs'>>;

/** Asked for so much early: the broker is a second exact, and its clock may be behind ours. */
const EARLY_MS = 1_000;
/** As long as a proxy delays unless it was told otherwise is a day. */
const LONGEST_DELAY_MS = 23 * 3_600_000;
/** Requests under way at once, as a timed message goes alone: a busy broker has taken so many in time. */
const AT_ONCE = 50;
/** Handles kept to recall by, the latest of them. */
const MOST_HANDLES = 20_000;
const { WRITE, READ_WRITE } = definition.Permission;

/** Sends alarms to the brokers of the topic in turn, and takes back what it has sent. */
export class RocketmqOutbox {
  readonly #clientId = `lastcall-${randomUUID()}`;
  readonly #peers = new Map<string, RocketmqPeer>();
  readonly #sent = new Map<string, Sent>();
  /** Messages taken back that were on their way already. */
  readonly #tookBack = new Set<string>();
  #writable: readonly string[] = [];
  #turn = 0;

  constructor(
    private readonly address: RocketmqAddress,
    private readonly place: Place,
    private readonly clock: Clock,
  ) {}

  /** Asks where the topic is, one proxy after another. */
  async route(limitMs: number): Promise<void> {
    const route = async (): Promise<void> => {
      this.#writable = await this.#route(limitMs);
    };
    await withTimeLimit(route(), limitMs, 'RocketMQ did not answer');
  }

  /** Resolves when the brokers have them all. Rejects in bounded time. */
  async send(messages: readonly Outgoing[], limitMs: number): Promise<void> {
    for (let start = 0; start < messages.length; start += AT_ONCE) {
      const some = messages.slice(start, start + AT_ONCE);
      await withTimeLimit(this.#sendAll(some, limitMs), limitMs, 'RocketMQ did not answer');
    }
  }

  async #sendAll(messages: readonly Outgoing[], limitMs: number): Promise<void> {
    if (this.#writable.length === 0) this.#writable = await this.#route(limitMs);
    try {
      await Promise.all(messages.map((message) => this.#send(message, limitMs)));
    } catch (error) {
      // The next call looks where the topic is now.
      this.#writable = [];
      throw error;
    }
  }

  /** Takes back what was sent from here. */
  async recall(ids: readonly string[], limitMs: number): Promise<void> {
    const recalls = ids.map(async (id) => {
      const sent = this.#sent.get(id);
      if (!sent) return;
      this.#tookBack.add(sent.messageId);
      if (sent.handle !== '') await this.#next().recall(sent.handle, limitMs);
      this.#sent.delete(id);
    });
    if (recalls.length === 0) return;
    await withTimeLimit(Promise.all(recalls), limitMs, 'RocketMQ did not answer');
  }

  /** Whether this message was taken back, which is asked once: when it has come. */
  tookBack(messageId: string): boolean {
    return this.#tookBack.delete(messageId);
  }

  close(): void {
    for (const peer of this.#peers.values()) peer.close();
    this.#peers.clear();
  }

  async #route(limitMs: number): Promise<string[]> {
    let failure: unknown;
    for (const endpoint of this.address.endpoints) {
      try {
        const queues = await this.peer(endpoint).queryRoute(limitMs);
        const writable = queues.filter((queue) => canWrite(queue)).map(endpointOf);
        if (writable.length > 0) return [...new Set(writable)];
        failure = new Error(`Nobody may write to the topic ${this.place.topic}`);
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  async #send(alarm: Outgoing, limitMs: number): Promise<void> {
    const brokerMs = alarm.storedMs ?? Date.now();
    const inMs = alarm.atMs - this.clock.nowMs() - EARLY_MS;
    const deliverAtMs = brokerMs + Math.min(Math.max(inMs, 0), LONGEST_DELAY_MS);
    const { messageId, message } = timedMessage(this.place, alarm, deliverAtMs);
    const handle = await this.#next().send(message, limitMs);
    this.#sent.set(alarm.id, { atMs: alarm.atMs, messageId, handle });
    if (this.#sent.size > MOST_HANDLES) this.#forgetSome();
  }

  /** Those that have rung, or else the oldest half. */
  #forgetSome(): void {
    const nowMs = this.clock.nowMs();
    for (const [id, { atMs }] of this.#sent) if (atMs < nowMs) this.#sent.delete(id);
    for (const id of this.#sent.keys()) {
      if (this.#sent.size <= MOST_HANDLES / 2) break;
      this.#sent.delete(id);
    }
    if (this.#tookBack.size > MOST_HANDLES) this.#tookBack.clear();
  }

  #next(): RocketmqPeer {
    this.#turn += 1;
    const known = this.#writable.length > 0 ? this.#writable : this.address.endpoints;
    return this.peer(known[this.#turn % known.length] as string);
  }

  /** Its connection comes back by itself. */
  peer(endpoint: string): RocketmqPeer {
    const known = this.#peers.get(endpoint);
    if (known) return known;
    const peer = new RocketmqPeer(endpoint, this.address, this.#clientId);
    this.#peers.set(endpoint, peer);
    return peer;
  }
}

function canWrite(queue: definition.MessageQueue): boolean {
  return [WRITE, READ_WRITE].some((one) => one === queue.getPermission());
}

/** Which proxy serves a queue. */
export function endpointOf(queue: definition.MessageQueue): string {
  const [first] = queue.getBroker()?.getEndpoints()?.getAddressesList() ?? [];
  return `${first?.getHost()}:${first?.getPort()}`;
}
