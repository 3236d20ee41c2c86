import type { DataSource } from 'typeorm';
import { Alarms } from '../alarms/alarms';
import { Brake } from '../brake/brake';
import type { DeadlineHandler, DueDeadline } from '../deadlines/deadline-handler';
import type { DrainParts } from '../draining/drain-parts';
import { FurtherDrainers } from '../draining/further-drainers';
import type { Lock } from '../lock';
import { NoopLock } from '../locks/noop.lock';
import { EVERYTHING_MS } from '../deadlines/low-water';
import { silentTelemetry, type TimeoutTelemetry } from '../telemetry';
import type { TimerDriver } from '../timer-driver';
import { TRUSTED_ABILITIES } from './trusted-abilities';
import { TimerStoreHealth } from '../alarms/timer-store-health';
import type { Transaction } from '../database/transaction';

const deafDriver: TimerDriver = {
  name: 'deaf',
  abilities: TRUSTED_ABILITIES,
  start: async () => undefined,
  stop: async () => undefined,
  arm: async () => undefined,
  disarm: async () => undefined,
  survey: async () => ({ generation: 'one', alarms: async function* () {} }),
};

/** What a drain is made of, with alarms that nobody hears, unless it is given a driver. */
export function drainParts(
  dataSource: DataSource,
  kind: string,
  {
    lock = new NoopLock(),
    brake = new Brake(dataSource, { kinds: [], share: null }),
    driver = deafDriver,
    ...told
  }: Partial<TimeoutTelemetry> & {
    readonly lock?: Lock;
    readonly brake?: Brake;
    readonly driver?: TimerDriver;
  } = {},
): DrainParts {
  const telemetry = { ...silentTelemetry, ...told };
  const clock = { nowMs: () => Date.now(), freshen: async () => undefined };
  const options = { granularity: 100, horizonMs: 60_000, kinds: [kind] };
  const health = new TimerStoreHealth(telemetry);
  const alarms = new Alarms(dataSource, driver, clock, health, options);
  return {
    dataSource,
    lock,
    alarms,
    brake,
    clock,
    telemetry,
    further: new FurtherDrainers(Infinity),
    othersWaitMs: () => 0,
    leftToRunMs: () => EVERYTHING_MS,
  };
}

/** Writes an effect for each subject, in the claiming transaction. */
export class Effects implements DeadlineHandler {
  readonly batches: string[][] = [];

  constructor(
    readonly maxBatch = 1_000,
    private readonly before: (
      due: readonly DueDeadline[],
      tx: Transaction,
    ) => Promise<unknown> = async () => undefined,
  ) {}

  lockKey(subjectId: string): string {
    return `lock:${subjectId}`;
  }

  async handle(due: readonly DueDeadline[], tx: Transaction, by: string) {
    const ids = due.map(({ subjectId }) => subjectId);
    this.batches.push(ids);
    await tx.rows('INSERT INTO effects SELECT unnest($1::uuid[]), $2', [ids, by]);
    await this.before(due, tx);
    return { changed: due.length, lost: 0 };
  }
}
