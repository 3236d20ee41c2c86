export { armNextAttempts, type Attempt, type Attempted, AttemptQueue } from './attempts';
export { backoffMs } from './backoff';
export { alarmFor } from './alarm-for';
export type { Granularity } from './slots';
export { Alarms, type AlarmsOptions } from './alarms';
export {
  Backfill,
  BackfillCursorError,
  type BackfillOptions,
  type BackfillProgress,
  type BackfillResult,
} from './backfill';
export type { BrakeOptions } from './brake';
export { type BrakeFacts, CLOCK_JUMPED } from './brake-table';
export { readStopped, releaseBrakes, type Stopped } from './brake-desk';
export { BundledInError } from './drivers/bundled-in.error';
export { lifting } from './lift-limits';
export { LOCKS_OUT } from './lock-holders';
export { onceBack } from './once-back';
export { onceFree } from './once-free';
export { limitWaitsForTables } from './locked-statements';
export { type Session, sessionText } from './session-text';
export { assertTable, checked } from './checked-connections';
export { closePool } from './close-pool';
export { monotonicClock, systemClock, type Clock } from './clock';
export { CommitUnknownError } from './commit';
export { DatabaseClock } from './database-clock';
export {
  isCanceledStatement,
  isContention,
  isEverybodys,
  isLockTimeout,
  isInfrastructureError,
  isOutOfTransactionIds,
  isTableLocked,
  sqlStateOf,
} from './database-errors';
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
} from './deadline-handler';
export { countOverdue, deadlinesBetween, insertDeadlines } from './deadlines';
export type { DrainCounts } from './drain-counts';
export { drainConnections } from './drain-options';
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
} from './pool-options';
export { PEER_LIMITS, sessionAddress, startUpOptions, UNDERSTOOD } from './session-settings';
export { findPlace, type HostPostgres, searchPathOf } from './host/connections';
export { enterHost, leaveHost } from './host/host-session';
export { asProvider, findMarked, isMade, isSingleton, markOnce } from './host/as-provider';
export { assertOptions, hasMethods, having, isObject, orElse } from './host/option-kinds';
export type { Due, HandlesDue, Tx } from './host/deadline-handler.decorator';
export type { HostTransaction } from './host/host-transaction';
export { type HostDeadline, Subjects } from './host/subjects';
export { type HostTransactions, openHostTransactions } from './host/host-transactions';
export { databaseId } from './host/installation-name';
export { kindsArmedByHosts } from './host/kinds-of-orders';
export { migratePlace } from './host/migrate-timeouts';
export { toldSeldom } from './told-seldom';
export { soundTelemetry } from './host/sound-telemetry';
export type { Injected, InjectedAll } from './host/timeout-options';
export { every, type EveryOptions, type Turns } from './every';
export { failpoint, onFailpoint } from './failpoint';
export { hashTagCount, hashTags } from './hash-tags';
export {
  type HeldDeadline,
  listHeld,
  releaseHeld,
  STILL_HELD,
  type WhichHeld,
} from './held-deadlines';
export { type Held, isLockOfIds, type Lock, type LockOfIds } from './lock';
export { NoopLock } from './locks/noop.lock';
export { RedlockLock } from './locks/redlock.lock';
export { BrakesOfKinds1764140000000 } from './migrations/1764140000000-brakes-of-kinds';
export { TimeoutBrakes1763600020000 } from './migrations/1763600020000-timeout-brakes';
export { isFar } from './far-deadlines';
export { findAlarm } from './find-alarm';
export { NearAndFarDeadlines1763700210000 } from './migrations/1763700210000-near-and-far-deadlines';
export { Deadlines1763600000000 } from './migrations/1763600000000-deadlines';
export { StoppedKinds1764160000000 } from './migrations/1764160000000-stopped-kinds';
export { SweepShards1763930020000 } from './migrations/1763930020000-sweep-shards';
export { TimeoutSubjects1763701500000 } from './migrations/1763701500000-timeout-subjects';
export { Workers1763600010000 } from './migrations/1763600010000-workers';
export { OthersTroubleError, StoodStillError } from './others-errors';
export { isOfOwnConnection } from './own-connection';
export { isRefusedByPooler, isTransactionPooled, openSessions, withOwnSessions } from './pooler';
export { PAST_AUTOVACUUM_MS } from './past-autovacuum';
export { quoted } from './quoted';
export { inMigrationTurn, makeSchema } from './migration-turn';
export { patiently } from './patiently';
export { complaintAboutPostgresUrl } from './postgres-url';
export { complaintAboutSchema } from './schema-name';
export { askRedisOnce, FAIL_FAST, openRedis, PATIENT, type RedisAddress } from './redis';
export { readMigrations } from './read-migrations';
export { parseRedisUrl } from './redis-url';
export { RedisUrlError } from './redis-url.error';
export { runMigrations } from './run-migrations';
export { SERVICE_LEVEL_MS } from './service-level';
export type { ShardedSweepReport } from './shards/sharded-sweep';
export { type ShardReport, SweepShards } from './shards/sweep-shards';
export { storableText } from './storable-text';
export { unlessItStandsStill } from './stood-still';
export { type SweepCounts, sweepDefaults } from './sweep';
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
export { type AlarmFindings, type AlarmsReport, unseenReport, VerifyAlarms } from './verify-alarms';
export { listWorkers, type WorkerView } from './worker-heartbeat';
export { inTransaction, type InTransactionOptions } from './in-transaction';
export { queryHot, queryRows } from './query-rows';
export { Transaction, type TransactionOptions } from './transaction';
export { Uuids } from './uuids';
export { drainersHere } from './pace';
