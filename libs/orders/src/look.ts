// `@lastcall/orders/look`: for a process that looks at an installation from outside, as the commands
// do. Nothing here loads Nest, which takes longer to load than an order takes to be read.
import {
  DatabaseClock,
  type Deadline,
  findAlarm,
  type TimerDriver,
  timerDriverKind,
} from '@app/timeout';
import type { DataSource } from 'typeorm';
import { type Config, REDIS_PREFIX } from './config';
import { createDataSource } from './data-source';
import { onDataSource } from './order/order-rows';
import type { OrderView } from './order/order';
import type { Page } from './order/page';
import { type OrderFilter, searchOrders } from './order/search-orders';
import { type OrderDetailsView, readOrderDetails } from './ops/read-order-details';

export { isInfrastructureError } from '@app/timeout';
export { connectWithin } from './connect-limit';
export {
  type Config,
  ConfigError,
  isProviderName,
  loadConfigFor,
  type ProviderName,
  type Purpose,
  settingsOf,
} from './config';
export { createDataSource } from './data-source';
export { decimalsOf } from './providers/currencies';
export { isOfOtherVersion, MissingTablesError } from './missing-tables';
export { parseDuration } from './duration';
export { type PostgresRefusal, postgresRefusal } from './order/postgres-refusal';
export { type RedisRefusal, redisRefusal } from './order/redis-refusal';
export { ERROR_STATUS, LastcallError, reasonOf } from './order/errors';
export { ERASABLE_RULE, isErasable, REASON_LENGTH } from './order/operator-action';
export { onDataSource } from './order/order-rows';
export { isPlainText, PLAIN_TEXT_RULE } from './order/plain-text';
export { shortened } from './order/shortened';
export { isSubject, SUBJECT_RULE } from './order/subject';
export { refusalOfUnkeptText } from './order/unkept-text';
export { isUuid } from './order/uuid';
export { WEB_URL_RULE, webUrl } from './settings/web-addresses';
export { leadsToDeadlinesAlone } from './ops/deadlines-alone';
export { differenceText, readRunningSettings, type RunningSettings } from './ops/running-settings';
export { TargetLook, type UnlistedWaits } from './targets/target-look';
export {
  TARGET_WAITS,
  type TargetExit,
  type TargetWait,
  type TargetWaitName,
} from './targets/target-waits';
export { SHARED_NAMES, sharedSettings, type SharedSettings } from './ops/shared-settings';

/** As many as an order's details are read by at once. */
const CONNECTIONS = 3;

/** Reads orders without the order module: nothing is closed by being looked at. */
export class Look {
  #driver: Promise<TimerDriver> | undefined;

  private constructor(
    private readonly config: Config,
    private readonly dataSource: DataSource,
    private readonly onError: (error: Error) => void,
  ) {}

  /**
   * Rejects when Postgres is away.
   * @param onError told of what the timer store has against being read
   */
  static async open(config: Config, onError: (error: Error) => void): Promise<Look> {
    const dataSource = createDataSource(config, 'lastcall look', CONNECTIONS);
    await dataSource.initialize();
    return new Look(config, dataSource, onError);
  }

  /** @throws {LastcallError} order_not_found */
  readOrder(orderId: string): Promise<OrderDetailsView> {
    const find = (deadline: Deadline) => this.#findAlarm(deadline);
    return readOrderDetails(onDataSource(this.dataSource), find, orderId);
  }

  searchOrders(filter: OrderFilter): Promise<Page<OrderView>> {
    return searchOrders(onDataSource(this.dataSource), filter);
  }

  async close(): Promise<void> {
    const driver = await this.#driver?.catch(() => undefined);
    await driver?.stop();
    await this.dataSource.destroy();
  }

  /** The timer store is opened only for an order that has a deadline. */
  async #findAlarm(deadline: Deadline) {
    const { TIMER_DRIVER: name, TIMER_GRANULARITY: granularity } = this.config;
    this.#driver ??= timerDriverKind(name).create({
      settings: this.config,
      dataSource: this.dataSource,
      databaseClock: new DatabaseClock(this.dataSource),
      prefix: REDIS_PREFIX,
      onError: this.onError,
    });
    return findAlarm(await this.#driver, { granularity, rings: false }, deadline);
  }
}
