import http from 'node:http';
import { Deliveries } from '../../../libs/orders/src/deliveries/deliveries';
import { DeliverWebhooks } from '../../../libs/orders/src/deliveries/deliver-webhooks';
import { WebhookEndpoints } from '../../../libs/orders/src/deliveries/endpoints';
import { FanOutEvents } from '../../../libs/orders/src/deliveries/fan-out';
import { fanOutAll } from '../../support/fan-out-all';
import { startWebhookListener, type WebhookListener } from '../../support/webhook-listener';
import type { World } from '../../support/world';
import type { FakeTime } from '../fake-time';
import type { Scheduler } from '../scheduler';
import type { EndpointAction, EndpointMood } from './endpoint-action';

const OLGA = { actor: 'olga', reason: 'race' };
/** What one that does not want all is told of. */
const SOME = ['order.paid', 'order.closed', 'order.canceled'];
const REFUSED = 503;
const GONE = 410;
const TAKEN = 204;
const ROUNDS = 12;
const LEASE_IS_OVER_MS = 61_000;
/** Longer than the longest pause, and three of them are no three days. */
const PAUSE_IS_OVER_MS = 7 * 3_600_000;

/** An endpoint as a program begins: one that refuses has been asked in vain where anything has happened. */
export interface StartingEndpoint {
  readonly wants: 'all' | 'some';
  readonly mood: 'works' | 'refuses';
}

/** A webhook that has come to an endpoint. */
export interface Arrived {
  readonly orderId: string;
  readonly version: number;
  readonly isTaken: boolean;
}

/** One of the shop's own systems, as a program has it. */
export interface Endpoint {
  readonly id: string;
  readonly listener: WebhookListener;
  mood: EndpointMood;
  readonly arrived: Arrived[];
  /** Webhooks that it has not taken since it took one, or was made. */
  refusals: number;
  wasGone: boolean;
  /** True once something was given up: what comes behind that does not wait for it. */
  hasGivenUp: boolean;
}

/** The shop's own systems that hear of events, over real HTTP; nothing else moves while one is asked. */
export class Endpoints {
  readonly all: Endpoint[] = [];

  private constructor(
    private readonly listeners: readonly WebhookListener[],
    private readonly time: FakeTime,
  ) {}

  static async open(scheduler: Scheduler, time: FakeTime): Promise<Endpoints> {
    instrumentHttp(scheduler);
    return new Endpoints([await startWebhookListener(), await startWebhookListener()], time);
  }

  async close(): Promise<void> {
    await Promise.all(this.listeners.map((listener) => listener.close()));
  }

  /** A program's begin to hear; those of the one before are gone with its tables. */
  async begin(world: World, starting: readonly StartingEndpoint[]): Promise<void> {
    this.all.splice(0);
    for (const [index, { wants, mood }] of starting.entries()) {
      const listener = this.listeners[index] as WebhookListener;
      const events = wants === 'all' ? ['*'] : SOME;
      const made = await world.get(WebhookEndpoints).create({ url: listener.url, events }, OLGA);
      const endpoint: Endpoint = {
        ...{ id: made.endpoint.id, listener, mood, arrived: [] },
        ...{ refusals: 0, wasGone: false, hasGivenUp: false },
      };
      listener.answer = ({ orderId, version, type }, response) => {
        const { mood } = endpoint;
        const isTaken = mood === 'works' || (mood === 'refuses payments' && type !== 'order.paid');
        endpoint.arrived.push({ orderId, version, isTaken: isTaken || mood === 'half' });
        endpoint.refusals = isTaken ? 0 : endpoint.refusals + 1;
        if (mood === 'is gone') endpoint.wasGone = true;
        if (mood === 'hangs up' || mood === 'half') return void response.destroy();
        response.writeHead(isTaken ? TAKEN : mood === 'is gone' ? GONE : REFUSED).end();
      };
      this.all.push(endpoint);
    }
  }

  /** Those that refuse are asked once about what has happened before the program. */
  async askTheRefusing(world: World): Promise<void> {
    if (this.all.every(({ mood }) => mood === 'works')) return;
    await fanOutAll(world, world.get(FanOutEvents));
    await world.get(DeliverWebhooks).runOnce();
  }

  /** Does one action; `index` may be of one that the program does not have. */
  async act(what: EndpointAction, index: number, world: World): Promise<void> {
    const endpoint = this.all[index % Math.max(1, this.all.length)];
    if (!endpoint) return;
    switch (what) {
      case 'redeliver all': {
        const { redelivered } = await world.get(Deliveries).redeliver(endpoint.id, undefined, OLGA);
        if (redelivered > 0) endpoint.hasGivenUp = true;
        return;
      }
      case 'redeliver': {
        const filter = { endpointId: endpoint.id, status: 'delivered', limit: 1 } as const;
        const { items } = await world.get(Deliveries).list(filter);
        const ids = items.map(({ id }) => id);
        await world.get(Deliveries).redeliver(endpoint.id, ids, OLGA);
        return;
      }
      case 'switch on':
        await world.get(WebhookEndpoints).switchOn(endpoint.id, OLGA);
        return;
      default:
        endpoint.mood = what.slice('endpoint '.length) as EndpointMood;
    }
  }

  /** They all work, operators see to what was given up, and time passes: until everything has come. */
  async heal(world: World): Promise<string[]> {
    if (this.all.length === 0) return [];
    for (const endpoint of this.all) endpoint.mood = 'works';
    for (let round = 0; round < ROUNDS; round++) {
      await fanOutAll(world, world.get(FanOutEvents));
      for (const { id } of this.all) {
        const { status } = await world.get(WebhookEndpoints).read(id);
        if (status === 'off') await world.get(WebhookEndpoints).switchOn(id, OLGA);
        await world.get(Deliveries).redeliver(id, undefined, OLGA);
      }
      await world.get(DeliverWebhooks).runOnce();
      const [row] = await world.rows<{ n: number }>(
        `SELECT count(*)::int AS n FROM webhook_deliveries WHERE status <> 'delivered'`,
      );
      if (row?.n === 0) return [];
      this.time.pass(round === 0 ? LEASE_IS_OVER_MS : PAUSE_IS_OVER_MS);
    }
    return [`webhooks still wait after ${ROUNDS} rounds`];
  }
}

/** A request under way is waited for, as nothing else is that a machine takes its time for. */
function instrumentHttp(scheduler: Scheduler): void {
  const request = http.request.bind(http) as (...args: unknown[]) => http.ClientRequest;
  const replacement = (...args: unknown[]): http.ClientRequest => {
    const end = scheduler.begin();
    return request(...args).once('close', end);
  };
  http.request = replacement;
}
