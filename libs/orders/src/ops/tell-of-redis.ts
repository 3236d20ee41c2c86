import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';
import { RedisOwner } from './redis-owner';

/** What an operator does about a Redis that two installations use. */
const EACH_A_REDIS_OF_ITS_OWN =
  'if that database still runs, give each a Redis, or a database of one, of its own (REDIS_URL ends in /1): ' +
  'alarms are found late, and the stream of events mixes two shops; if it is gone, this was said once';

/** Tells, at the start of each process, that another database's processes have used this Redis. */
@Injectable()
export class TellOfRedis implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #ending = new AbortController();
  /** Settles when Redis was asked: while it is away, not before it is back, or never. */
  told: Promise<void> = Promise.resolve();

  constructor(
    private readonly owner: RedisOwner,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  /** Waits for nothing: without Redis, too, the process starts at once. */
  onApplicationBootstrap(): void {
    this.told = this.#tell().catch((error: unknown) => {
      if (!this.#ending.signal.aborted) this.telemetry.failed('tell of redis', error);
    });
  }

  beforeApplicationShutdown(): void {
    this.#ending.abort();
  }

  async #tell(): Promise<void> {
    const owners = await this.owner.take(this.#ending.signal);
    if (!owners || owners.last === null || owners.last === owners.us) return;
    this.telemetry.alert('redis_of_another_database', {
      before: owners.last,
      now: owners.us,
      exit: EACH_A_REDIS_OF_ITS_OWN,
    });
  }
}
