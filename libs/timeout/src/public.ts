/** What `@lastcall/timeout` offers; everything else may change with any version. */
export {
  DeadlineHandler,
  type DeadlineHandlerOptions,
  type Due,
  type HandlesDue,
  type Tx,
} from './host/deadline-handler.decorator';
export type { HostDataSource, HostPool, HostPostgres } from './host/connections';
export {
  fromDrizzle,
  fromKnex,
  fromPg,
  fromPrisma,
  fromTypeOrm,
  type HostTransaction,
} from './host/host-transaction';
export { migrateTimeouts } from './host/migrate';
export { MissingDeadlineTablesError } from './host/missing-deadline-tables';
export { MayNotMigrateError, NoPostgresError } from './host/refused-start';
export type { HostDeadline, SubjectRef } from './deadlines/host-deadline';
export type { ArmedDeadline } from './host/subjects';
export type { HostTelemetry } from './host/sound-telemetry';
export { TimeoutModule } from './host/timeout.module';
export type {
  Injected,
  InjectedAll,
  TimeoutModuleAsyncBase,
  TimeoutModuleAsyncOptions,
  TimeoutModuleOptions,
  TimeoutOptionsFactory,
} from './host/timeout-options';
export type { BrakeFacts } from './brake/brake-table';
export type { Stopped } from './brake/brake-desk';
export type { HostBrake } from './host/host-brake';
export { ReservedKindError } from './deadlines/kinds-of-orders';
export type { HeldDeadline, Holding } from './deadlines/held-deadlines';
export { getTimeoutsToken, InjectTimeouts, type KnownDeadline, Timeouts } from './host/timeouts';
export {
  AmbiguousDeadlineHandlerError,
  LazilyLoadedError,
  PoolerRefusalError,
  ScopedDeadlineHandlerError,
  ScopedOptionsError,
  SecondTimeoutModuleError,
  TransactionPoolingError,
  UnhandledDeadlineError,
} from './errors';
export type { Held, Lock } from './lock';
export { NoopLock } from './locks/noop.lock';
export { silentTelemetry, type TimeoutTelemetry } from './telemetry';
export type { RedisAddress } from './redis/redis';
export type {
  Alarm,
  OnRing,
  RingAgain,
  RingAnswer,
  Survey,
  TimerAbilities,
  TimerDriver,
} from './timer-driver';
