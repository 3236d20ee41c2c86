import {
  type AlarmBoard,
  hashTagCount,
  hashTags,
  type Lock,
  NoopLock,
  onceFree,
  RedlockLock,
  searchPathOf,
  timerDriverKind,
} from '@app/timeout';
import type { Provider } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { SETTINGS, settingsOf } from './config';
import { DATABASE } from './data-source';
import {
  EVENT_STREAM,
  type EventStream,
  NoEventStream,
  RedisEventStream,
} from './events/event-stream';
import { SEAL_KEY } from './events/seal';
import { RedisMark } from './ops/redis-mark';
import { RedisOwner } from './ops/redis-owner';
import { HOSTS_PROVIDERS } from './ops/tell-of-process';
import { ORDER_LOCK } from './order/order-guard';
import { HOST_SEARCH_PATH } from './order/order-hooks';
import { NO_STOCK_PORT, STOCK_PORT } from './order/stock-port';
import { ORDERS_TELEMETRY, TELL_OF_ALERT, type TellOfAlert } from './order/telemetry';
import { createProviders, guardProviders, PROVIDERS_ELSEWHERE } from './providers/create-providers';
import { readInstallationId } from './providers/installation-id';
import { PaymentProviders } from './providers/payment-providers';
import { ProviderSuspicion } from './providers/provider-suspicion';
import { IS_VISITOR, type OrdersSetUp, prefixOf, SET_UP, toldAs } from './set-up';

/** Injection token: opens the alarms as a queue to look at; null where they are none. */
export const OPEN_ALARM_QUEUE = Symbol('OpenAlarmQueue');
export type OpenAlarmQueue = () => AlarmBoard | null;

/** Events kept in the stream; a consumer that falls behind further reads order_events instead. */
const STREAM_LENGTH = 100_000;

const redisFailed = (setUp: OrdersSetUp) => toldAs('redis', setUp);

/** Alone, as the database and the deadlines are made of it. */
export const LOCK: Provider = {
  provide: ORDER_LOCK,
  inject: [SET_UP],
  useFactory: (setUp: OrdersSetUp): Lock => {
    const { REDIS_URL: redis, REDIS_HASH_TAGS: wanted } = setUp.config;
    if (setUp.parts.lock) return setUp.parts.lock;
    // Without Redis the rows themselves are what callers wait for: the conditional update decides.
    if (!redis) return new NoopLock();
    const tags = hashTags(prefixOf(setUp), hashTagCount(redis, wanted));
    return new RedlockLock({ redis, onError: redisFailed(setUp), tags });
  },
};

/** What use cases are given of the set-up, each as much as it needs. */
export const OF_THE_SET_UP: Provider[] = [
  {
    provide: HOST_SEARCH_PATH,
    inject: [SET_UP],
    useFactory:
      ({ config }: OrdersSetUp) =>
      () =>
        searchPathOf({ url: config.DATABASE_URL }),
  },
  {
    provide: STOCK_PORT,
    inject: [SET_UP],
    useFactory: ({ parts }: OrdersSetUp) => parts.stock ?? NO_STOCK_PORT,
  },
  {
    provide: HOSTS_PROVIDERS,
    inject: [SET_UP],
    useFactory: ({ parts }: OrdersSetUp) => (parts.payments ?? []).map(({ name }) => name),
  },
  {
    provide: SETTINGS,
    inject: [SET_UP],
    useFactory: ({ config }: OrdersSetUp) => settingsOf(config),
  },
  {
    provide: SEAL_KEY,
    inject: [SET_UP],
    useFactory: ({ config }: OrdersSetUp) => config.HISTORY_SEAL_KEY ?? null,
  },
  {
    provide: ORDERS_TELEMETRY,
    inject: [SET_UP],
    useFactory: ({ telemetry }: OrdersSetUp) => telemetry,
  },
  {
    provide: TELL_OF_ALERT,
    inject: [SET_UP],
    useFactory: ({ telemetry, tell }: OrdersSetUp): TellOfAlert =>
      tell ?? ((what, fields) => telemetry.alert(what, fields)),
  },
  {
    provide: PaymentProviders,
    inject: [SET_UP, DATABASE, ProviderSuspicion, PROVIDERS_ELSEWHERE, IS_VISITOR],
    useFactory: async (
      { config, telemetry, parts }: OrdersSetUp,
      dataSource: DataSource,
      suspicion: ProviderSuspicion,
      elsewhere: readonly string[],
      isVisitor: boolean,
    ) => {
      const onOutcome = (outcome: string): void => suspicion.note(outcome);
      if (parts.payments) return guardProviders(parts.payments, telemetry, { onOutcome });
      const read = () => readInstallationId(dataSource);
      // Who types a command hears of a locked table at once.
      const installation = await (isVisitor ? read() : onceFree(dataSource, read));
      return createProviders(config, telemetry, { installation, elsewhere, onOutcome });
    },
  },
  {
    provide: EVENT_STREAM,
    inject: [SET_UP],
    useFactory: (setUp: OrdersSetUp): EventStream => {
      const { events } = setUp.parts;
      if (events) {
        return {
          append: (those) => events.append(those),
          // What a host's own sink has taken is the host's to erase.
          forgetReasons: () => Promise.resolve(0),
          close: () => Promise.resolve(),
        };
      }
      const { REDIS_URL: redis } = setUp.config;
      const key = `${prefixOf(setUp)}:order-events`;
      const stream = { key, maxLength: STREAM_LENGTH, onError: redisFailed(setUp) };
      return redis ? new RedisEventStream({ redis, ...stream }) : new NoEventStream();
    },
  },
  {
    provide: RedisOwner,
    inject: [SET_UP, DATABASE],
    useFactory: (setUp: OrdersSetUp, dataSource: DataSource) =>
      new RedisOwner({ redis: setUp.config.REDIS_URL, prefix: prefixOf(setUp), dataSource }),
  },
  {
    provide: RedisMark,
    inject: [SET_UP],
    useFactory: (setUp: OrdersSetUp) => new RedisMark(setUp.config.REDIS_URL, prefixOf(setUp)),
  },
  {
    provide: OPEN_ALARM_QUEUE,
    inject: [SET_UP],
    useFactory: (setUp: OrdersSetUp) => (): AlarmBoard | null => {
      if (setUp.parts.driver) return null;
      const { config: settings } = setUp;
      const kind = timerDriverKind(settings.TIMER_DRIVER);
      const context = { settings, prefix: prefixOf(setUp), onError: redisFailed(setUp) };
      return kind.openBoard?.(context) ?? null;
    },
  },
];
