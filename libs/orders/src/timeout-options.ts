import { DatabaseClock, type Lock, sweepDefaults, timerDriverKind } from '@app/timeout';
import type { TimeoutCoreOptions } from '@app/timeout/module';
import type { DataSource } from 'typeorm';
import { longestApiTransactionMs } from './api-wait';
import { BRAKED_KINDS, DEADLINE_KINDS } from './order/deadline-table';
import { PROVIDER_FAILS, ProviderSuspicion } from './providers/provider-suspicion';
import { type OrdersSetUp, prefixOf, toldAs } from './set-up';

/** Deadlines, as the settings of orders ask for them. */
export async function timeoutOptions(
  setUp: OrdersSetUp,
  ring: boolean,
  made: {
    readonly dataSource: DataSource;
    readonly drainDataSource: DataSource;
    readonly lock: Lock;
  },
  suspicion: ProviderSuspicion,
): Promise<TimeoutCoreOptions> {
  const { config, telemetry, parts } = setUp;
  const clock = new DatabaseClock(made.drainDataSource);
  const driver =
    parts.driver ??
    (await timerDriverKind(config.TIMER_DRIVER).create({
      settings: config,
      dataSource: made.dataSource,
      databaseClock: clock,
      prefix: prefixOf(setUp),
      onError: toldAs(`timer driver ${config.TIMER_DRIVER}`, setUp),
    }));
  return {
    ring,
    kinds: DEADLINE_KINDS,
    granularity: config.TIMER_GRANULARITY,
    horizonMs: config.TIMER_HORIZON,
    sweep: { ...sweepDefaults, intervalMs: config.SWEEP_INTERVAL },
    drain: { drainers: config.DRAINERS },
    othersWaitMs: () => longestApiTransactionMs(made.drainDataSource),
    brake: {
      kinds: BRAKED_KINDS,
      share: config.BLAST_RADIUS,
      suspicion: () => suspicion.read(),
      isOver: (cause, onForMs) => cause === PROVIDER_FAILS && suspicion.isOver(onForMs),
      onReleased: () => suspicion.forget(),
      onEngaged: (facts) => telemetry.alert('timeouts_stopped', { ...facts }),
    },
    parts: { ...made, driver, clock, telemetry },
  };
}
