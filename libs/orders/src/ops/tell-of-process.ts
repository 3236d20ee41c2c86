import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { every, queryRows, type Turns } from '@app/timeout';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type Settings, SETTINGS } from '../config';
import { DATABASE } from '../data-source';
import { OrderHooks } from '../order/order-hooks';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';
import { RedisMark } from './redis-mark';
import {
  FORGOTTEN_AFTER,
  HOSTS_PROVIDERS_AS,
  REDIS_MARK_AS,
  TELL_EVERY_MS,
} from './running-settings';
import { sharedSettings } from './shared-settings';

/** Injection token: true in a process with the role of a worker. */
export const WORKS = Symbol('Works');
/** Injection token: names of the payment providers that the host brings itself. */
export const HOSTS_PROVIDERS = Symbol('HostsProviders');

/** Tells whoever looks into the database that this process lives, and with which settings. */
@Injectable()
export class TellOfProcess implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #id = randomUUID();
  #turns: Turns | undefined;
  #leaving: Promise<void> | undefined;

  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    @Inject(SETTINGS) private readonly settings: Settings,
    private readonly hooks: OrderHooks,
    @Inject(WORKS) private readonly works: boolean,
    @Inject(HOSTS_PROVIDERS) private readonly providers: readonly string[],
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
    private readonly redisMark: RedisMark,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const onError = (error: unknown): void => this.telemetry.failed('tell of process', error);
    // Known before it serves: a command that comes right after goes by it.
    await this.#tell(null).catch(onError);
    this.#turns = every(TELL_EVERY_MS, () => this.runOnce(), { onError, firstAfterMs: 0 });
  }

  async runOnce(): Promise<void> {
    await this.#tell(await this.redisMark.take());
  }

  async #tell(redisMark: string | null): Promise<void> {
    await queryRows(
      this.dataSource,
      `WITH forgotten AS (
         DELETE FROM processes WHERE id = ANY (ARRAY(
           SELECT id FROM processes WHERE seen_at < now() - ${FORGOTTEN_AFTER}
              AND (has_hooks IS NOT TRUE OR $5::boolean IS NOT NULL) FOR UPDATE SKIP LOCKED)))
       INSERT INTO processes (id, host, pid, settings, has_hooks) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (id) DO UPDATE SET seen_at = now(), settings = excluded.settings`,
      [
        ...[this.#id, hostname(), process.pid],
        JSON.stringify({ ...this.#told(), [REDIS_MARK_AS]: redisMark ?? undefined }),
        // Where no worker is, the hooks may be in another process of the host.
        this.hooks.hasAny || (this.works ? false : null),
      ],
    );
  }

  /** The names of what only its code has stand beside the settings, which may have the same names. */
  #told(): Readonly<Record<string, string | undefined>> {
    const providers = this.providers.length > 0 ? this.providers.join(',') : undefined;
    return { ...sharedSettings(this.settings), [HOSTS_PROVIDERS_AS]: providers };
  }

  /** A goodbye: the settings of what was stopped are not gone by, and what only its code has stays known. */
  beforeApplicationShutdown(): Promise<void> {
    return (this.#leaving ??= this.#leave());
  }

  async #leave(): Promise<void> {
    await this.#turns?.stop();
    this.redisMark.close();
    await queryRows(
      this.dataSource,
      'UPDATE processes SET seen_at = now(), left_at = now() WHERE id = $1',
      [this.#id],
    ).catch((error: unknown) => this.telemetry.failed('tell of process', error));
  }
}
