export { armNextAttempts, type Attempt, type Attempted, AttemptQueue } from './attempts';
export { backoffMs } from './backoff';
export { alarmFor } from './alarms/alarm-for';
export type { Granularity } from './slots';
export { Alarms, type AlarmsOptions } from './alarms/alarms';
export {
  Backfill,
  BackfillCursorError,
  type BackfillOptions,
  type BackfillProgress,
  type BackfillResult,
} from './alarms/backfill';
export type { BrakeOptions } from './brake/brake';
export { type BrakeFacts, CLOCK_JUMPED } from './brake/brake-table';
export { readStopped, releaseBrakes, type Stopped } from './brake/brake-desk';
export { BundledInError } from './drivers/bundled-in.error';
export { lifting } from './database/lift-limits';
export { LOCKS_OUT } from './database/lock-holders';
export { onceBack } from './database/once-back';
export { onceFree } from './database/once-free';
export { limitWaitsForTables } from './database/locked-statements';
export { type Session, sessionText } from './database/session-text';
export { assertTable, checked } from './database/checked-connections';
export { closePool } from './database/close-pool';
export { monotonicClock, systemClock, type Clock } from './clock';
export { CommitUnknownError } from './database/commit';
export { DatabaseClock } from './database/database-clock';
export {
  isCanceledStatement,
  isContention,
  isEverybodys,
  isLockTimeout,
  isInfrastructureError,
  isOutOfTransactionIds,
  isTableLocked,
  sqlStateOf,
} from './database/database-errors';
export { causesOf, wordsOf } from './causes';
export { nobodysContext } from './nobodys-context';
export type {
  BatchResult,
  Claimant,
  Deadline,
  DeadlineHandler,
  DueDeadline,
  FollowUpJudge,
  WholeBatch,
  WholeBatches,
} from './deadlines/deadline-handler';
export { countOverdue, deadlinesBetween, insertDeadlines } from './deadlines/deadlines';
export type { DrainCounts } from './draining/drain-counts';
export { drainConnections } from './draining/drain-options';
export { AlarmStoreError } from './drivers/alarm-store.error';
export { MemoryDriver } from './drivers/memory/memory.driver';
export {
  defaultTimerDriver,
  registerTimerDriver,
  timerDriverKind,
  timerDriverKinds,
} from './drivers/registry';
export {
  AmbiguousDeadlineHandlerError,
  LET_THROUGH,
  LockedTablesError,
  MigrationUnderWayError,
  PoolerRefusalError,
  SweepUnderWayError,
  TransactionPoolingError,
  UndeclaredDeadlineError,
  UnhandledDeadlineError,
} from './errors';
export { armFromQuery } from './host/arm-from-query';
export {
  ArmFromQueryError,
  type ArmFromQueryProgress,
  type ArmFromQueryResult,
} from './host/arm-from-query-options';
export {
  CLAIMING,
  CONNECT_LIMIT_MS,
  MIGRATIONS_TABLE,
  PLANNED,
  poolOptions,
  type PoolWish,
  SESSION_LIMITS,
} from './database/pool-options';
export {
  PEER_LIMITS,
  sessionAddress,
  startUpOptions,
  UNDERSTOOD,
} from './database/session-settings';
export { findPlace, type HostPostgres, searchPathOf } from './host/connections';
export { enterHost, leaveHost } from './host/host-session';
export { asProvider, findMarked, isMade, isSingleton, markOnce } from './host/as-provider';
export { assertOptions, hasMethods, having, isObject, orElse } from './host/option-kinds';
export type { Due, HandlesDue, Tx } from './host/deadline-handler.decorator';
export type { HostTransaction } from './host/host-transaction';
export type { HostDeadline } from './deadlines/host-deadline';
export { Subjects } from './host/subjects';
export { type HostTransactions, openHostTransactions } from './host/host-transactions';
export { databaseId } from './host/installation-name';
export { kindsArmedByHosts } from './deadlines/kinds-of-orders';
export { migratePlace } from './host/migrate-timeouts';
export { toldSeldom } from './told-seldom';
export { soundTelemetry } from './host/sound-telemetry';
export type { Injected, InjectedAll } from './host/timeout-options';
export { every, type EveryOptions, type Turns } from './every';
export { failpoint, onFailpoint } from './failpoint';
export { hashTagCount, hashTags } from './redis/hash-tags';
export {
  type HeldDeadline,
  listHeld,
  releaseHeld,
  STILL_HELD,
  type WhichHeld,
} from './deadlines/held-deadlines';
export { type Held, isLockOfIds, type Lock, type LockOfIds } from './lock';
export { NoopLock } from './locks/noop.lock';
export { RedlockLock } from './locks/redlock.lock';
export { BrakesOfKinds1764140000000 } from './migrations/1764140000000-brakes-of-kinds';
export { TimeoutBrakes1763600020000 } from './migrations/1763600020000-timeout-brakes';
export { isFar } from './deadlines/far-deadlines';
export { findAlarm } from './alarms/find-alarm';
export { NearAndFarDeadlines1763700210000 } from './migrations/1763700210000-near-and-far-deadlines';
export { Deadlines1763600000000 } from './migrations/1763600000000-deadlines';
export { StoppedKinds1764160000000 } from './migrations/1764160000000-stopped-kinds';
export { SweepShards1763930020000 } from './migrations/1763930020000-sweep-shards';
export { TimeoutSubjects1763701500000 } from './migrations/1763701500000-timeout-subjects';
export { Workers1763600010000 } from './migrations/1763600010000-workers';
export { OthersTroubleError, StoodStillError } from './database/others-errors';
export { isOfOwnConnection } from './database/own-connection';
export {
  isRefusedByPooler,
  isTransactionPooled,
  openSessions,
  withOwnSessions,
} from './database/pooler';
export { PAST_AUTOVACUUM_MS } from './database/past-autovacuum';
export { quoted } from './database/quoted';
export { inMigrationTurn, makeSchema } from './database/migration-turn';
export { patiently } from './database/patiently';
export { complaintAboutPostgresUrl } from './database/postgres-url';
export { complaintAboutSchema } from './database/schema-name';
export { askRedisOnce, FAIL_FAST, openRedis, PATIENT, type RedisAddress } from './redis/redis';
export { readMigrations } from './database/read-migrations';
export { parseRedisUrl } from './redis/redis-url';
export { RedisUrlError } from './redis/redis-url.error';
export { runMigrations } from './database/run-migrations';
export { SERVICE_LEVEL_MS } from './service-level';
export type { ShardedSweepReport } from './shards/sharded-sweep';
export { type ShardReport, SweepShards } from './shards/sweep-shards';
export { storableText } from './database/storable-text';
export { unlessItStandsStill } from './database/stood-still';
export { type SweepCounts, sweepDefaults } from './sweeping/sweep';
export { silentTelemetry, type TimeoutTelemetry } from './telemetry';
export { TimeLimitError, withTimeLimit } from './time-limit';
export { TimeoutRun } from './timeout-run';
export { TimeoutService } from './timeout.service';
export type {
  Alarm,
  OnRing,
  RingAgain,
  RingAnswer,
  Survey,
  TimerAbilities,
  TimerDriver,
} from './timer-driver';
export type {
  AlarmBoard,
  TimerDriverContext,
  TimerDriverKind,
  TimerFinding,
  TimerDriverParts,
} from './timer-driver-kind';
export { TimerAbilityError } from './timer-limits';
export {
  type AlarmFindings,
  type AlarmsReport,
  unseenReport,
  VerifyAlarms,
} from './alarms/verify-alarms';
export { listWorkers, type WorkerView } from './sweeping/worker-heartbeat';
export { inTransaction, type InTransactionOptions } from './database/in-transaction';
export { queryHot, queryRows } from './database/query-rows';
export { Transaction, type TransactionOptions } from './database/transaction';
export { Uuids } from './uuids';
export { drainersHere } from './draining/pace';
