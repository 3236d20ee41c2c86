import 'reflect-metadata';
import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { until } from '../../../test/support/until';
import { DatabaseClock } from './database/database-clock';
import type { BatchResult, DeadlineHandler, DueDeadline } from './deadlines/deadline-handler';
import { MemoryDriver } from './drivers/memory/memory.driver';
import { NoopLock } from './locks/noop.lock';
import { silentTelemetry } from './telemetry';
import { DeadlineStore, subject } from './testing/deadline-store';
import { HandlesDeadline, TimeoutCoreModule } from './timeout-core.module';
import { TimeoutService } from './timeout.service';
import { inTransaction } from './database/in-transaction';
import type { Transaction } from './database/transaction';

const KIND = 'payment';

@Injectable()
@HandlesDeadline(KIND)
class Handler implements DeadlineHandler {
  readonly maxBatch = 100;
  handled = 0;

  lockKey(): undefined {
    return undefined;
  }

  async handle(due: readonly DueDeadline[], tx: Transaction): Promise<BatchResult> {
    tx.afterCommit(() => void (this.handled += due.length));
    return { changed: due.length, lost: 0 };
  }
}

@Injectable()
@HandlesDeadline(KIND)
class SecondHandler extends Handler {}

describe('TimeoutCoreModule', () => {
  let store: DeadlineStore;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());
  beforeEach(() => store.empty());

  const start = async (
    handlers: (typeof Handler)[],
    { kinds = [KIND], ring = true }: { kinds?: string[]; ring?: boolean } = {},
  ) => {
    const { dataSource } = store;
    const clock = new DatabaseClock(dataSource);
    const onError = (error: Error): never => {
      throw error;
    };
    const timeouts = TimeoutCoreModule.forRootAsync({
      inject: [],
      useFactory: () => ({
        ring,
        kinds,
        granularity: 50,
        horizonMs: 60_000,
        sweep: { intervalMs: 60_000, unhealthyIntervalMs: 1_000, leaveToTimerMs: 0 },
        parts: {
          driver: new MemoryDriver({ databaseClock: clock, onError }),
          lock: new NoopLock(),
          dataSource,
          drainDataSource: dataSource,
          clock,
          telemetry: silentTelemetry,
        },
      }),
    });
    const module = await Test.createTestingModule({ imports: [timeouts], providers: handlers })
      .setLogger(false as never)
      .compile();
    return module.init();
  };

  it('finds handlers by their mark, and rings for them from the start', async () => {
    await store.add(KIND, [-1_000, 150]);
    const module = await start([Handler]);
    // The first is the first sweep's, the second its alarm's: no other sweep comes so soon.
    await until('both are handled', () => module.get(Handler).handled === 2);
    await module.close();
    expect(await store.deadlines()).toEqual([]);
  });

  it('handles what has lost its alarm long before the next sweep', async () => {
    const module = await start([Handler]);
    await until('it has begun', () => !module.get(TimeoutService).sweep.isDue(performance.now()));
    await store.add(KIND, [100]);
    await until('it is handled', () => module.get(Handler).handled === 1);
    await module.close();
  });

  it('leaves deadlines alone in a process that only arms', async () => {
    await store.add(KIND, [-1_000]);
    // By its first sweep it would take its time: whether it has begun is told at once.
    const begun = jest.spyOn(TimeoutService.prototype, 'start');
    try {
      const module = await start([Handler], { ring: false });
      await module.get(TimeoutService).alarms.settled();
      await module.close();
      expect(begun).not.toHaveBeenCalled();
    } finally {
      begun.mockRestore();
    }
    expect(await store.deadlines()).toHaveLength(1);
  });

  it('needs no handlers to arm, nor knows all kinds that wait', async () => {
    await store.add('from-a-newer-version', [60_000]);
    const module = await start([], { ring: false });
    const deadline = { kind: KIND, subjectId: subject(7), dueAt: new Date(), version: 1 };
    await inTransaction(store.dataSource, (tx) => module.get(TimeoutService).arm(tx, [deadline]));
    await module.close();
    expect(await store.deadlines()).toHaveLength(2);
  });

  it.each([
    ['a kind without a handler', [Handler], [KIND, 'refund'], 'No handler'],
    ['two handlers for one kind', [Handler, SecondHandler], [KIND], 'Two handlers'],
    ['a handler for a kind nobody declared', [Handler], [], 'not among the kinds'],
  ])('does not start with %s', async (_, handlers, kinds, message) => {
    await expect(start(handlers, { kinds })).rejects.toThrow(message);
  });
});
