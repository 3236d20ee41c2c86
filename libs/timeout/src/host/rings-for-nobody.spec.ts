import 'reflect-metadata';
import { AsyncLocalStorage } from 'node:async_hooks';
import { Test } from '@nestjs/testing';
import { Pool } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database';
import { until } from '../../../../test/support/until';
import { MemoryDriver } from '../drivers/memory/memory.driver';
import {
  DeadlineHandler,
  type Due,
  fromPg,
  getTimeoutsToken,
  type HandlesDue,
  TimeoutModule,
  type Timeouts,
} from '../public';
import type { Alarm, OnRing } from '../timer-driver';

/** A driver of the host's own that sets a timer where somebody arms: it rings in that one's context. */

const context = new AsyncLocalStorage<string>();
const kind = 'trial-end';

class Timers extends MemoryDriver {
  #onRing: OnRing | undefined;

  override start(onRing: OnRing): Promise<void> {
    this.#onRing = onRing;
    return Promise.resolve();
  }
  override arm(alarms: readonly Alarm[]): Promise<void> {
    setImmediate(() => void this.#onRing?.(alarms));
    return Promise.resolve();
  }
}

const seen: { subjectId: string; who: string | undefined }[] = [];
@DeadlineHandler(kind)
class EndTrials implements HandlesDue {
  handle(due: readonly Due[]): Promise<{ changed: number }> {
    for (const { subjectId } of due) seen.push({ subjectId, who: context.getStore() });
    return Promise.resolve({ changed: due.length });
  }
}

let database: TestDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = new Pool({ connectionString: database.url });
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

it('has deadlines handled in the context of none of those who armed them', async () => {
  const driver = new Timers({ onError: () => undefined });
  const options = { postgres: { url: database.url }, driver, sweepIntervalMs: 300_000 };
  const app = await Test.createTestingModule({
    imports: [TimeoutModule.forRoot(options)],
    providers: [EndTrials],
  }).compile();
  app.useLogger(false);
  await app.init();
  try {
    const timeouts = app.get<Timeouts>(getTimeoutsToken());
    const dueAt = new Date();
    await context.run('ann', () => timeouts.arm(fromPg(pool), { kind, subjectId: 'a', dueAt }));
    await until('it is handled', () => seen.length > 0);
    expect(seen).toEqual([{ subjectId: 'a', who: undefined }]);
  } finally {
    await app.close();
  }
});
