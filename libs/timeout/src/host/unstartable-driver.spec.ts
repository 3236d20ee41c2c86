import 'reflect-metadata';
import { Test, type TestingModule } from '@nestjs/testing';
import { Pool } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database';
import { until } from '../../../../test/support/until';
import { MemoryDriver } from '../drivers/memory/memory.driver';
import { registerTimerDriver } from '../drivers/registry';
import {
  DeadlineHandler,
  type Due,
  fromPg,
  getTimeoutsToken,
  type HandlesDue,
  migrateTimeouts,
  TimeoutModule,
  type TimeoutModuleOptions,
  type Timeouts,
} from '../public';
import { TRUSTED_ABILITIES } from '../testing/trusted-abilities';
import { TimeLimitError } from '../time-limit';
import type { OnRing } from '../timer-driver';

const kind = 'trial-end';
/** Passes at once. */
const LIMIT_MS = 15_000;

let database: TestDatabase;
let pool: Pool;
let app: TestingModule | undefined;
let handled: string[];
const told = jest.fn();
beforeAll(async () => {
  database = await createTestDatabase();
  await migrateTimeouts({ postgres: { url: database.url } });
  pool = new Pool({ connectionString: database.url });
});
beforeEach(() => {
  handled = [];
  told.mockClear();
  const { setTimeout } = globalThis;
  const atOnce = (run: () => void, ms?: number): NodeJS.Timeout =>
    setTimeout(run, ms === LIMIT_MS ? 0 : ms);
  jest.spyOn(globalThis, 'setTimeout').mockImplementation(atOnce);
});
afterEach(async () => {
  jest.restoreAllMocks();
  await app?.close();
  app = undefined;
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

@DeadlineHandler(kind)
class EndTrials implements HandlesDue {
  handle(due: readonly Due[]): Promise<{ changed: number }> {
    handled.push(...due.map(({ subjectId }) => subjectId));
    return Promise.resolve({ changed: due.length });
  }
}

async function boot(driver: TimeoutModuleOptions['driver']): Promise<void> {
  const postgres = { url: database.url };
  const telemetry = { failed: () => undefined, timerStore: told };
  const options = { postgres, driver, telemetry, sweepIntervalMs: 1_000 };
  app = await Test.createTestingModule({
    imports: [TimeoutModule.forRoot(options)],
    providers: [EndTrials],
  }).compile();
  app.useLogger(false);
  await app.init();
}

async function isHandled(subjectId: string): Promise<void> {
  const timeouts = (app as TestingModule).get<Timeouts>(getTimeoutsToken());
  await timeouts.arm(fromPg(pool), { kind, subjectId, dueAt: new Date() });
  await until(`${subjectId} is handled`, () => handled.includes(subjectId));
}

const isHealthy = () =>
  until('it is healthy', () => told.mock.calls.some(([state]) => state === 'healthy'));

describe("a driver of the host's own", () => {
  it('whose broker never answers as it starts keeps no application from starting, and no sweep', async () => {
    let startLate = (): void => undefined;
    let starts = 0;
    class WaitsForItsBroker extends MemoryDriver {
      override start(onRing: OnRing): Promise<void> {
        starts += 1;
        return new Promise((resolve, reject) => {
          startLate = () => void super.start(onRing).then(resolve, reject);
        });
      }
    }
    await boot(new WaitsForItsBroker({ onError: () => undefined }));
    expect(told.mock.calls).toEqual([['unhealthy', expect.any(TimeLimitError)]]);
    await isHandled('ann');
    await isHandled('bob');
    expect(told).toHaveBeenCalledTimes(1);
    startLate();
    await isHealthy();
    expect(starts).toBe(1);
  });

  it('that starts as the application has ended is stopped again', async () => {
    let startLate = (): void => undefined;
    const stops = jest.fn();
    class StartsTooLate extends MemoryDriver {
      override start = (): Promise<void> => new Promise((resolve) => (startLate = resolve));
      override async stop(): Promise<void> {
        stops();
        await super.stop();
      }
    }
    await boot(new StartsTooLate({ onError: () => undefined }));
    await app?.close();
    app = undefined;
    expect(stops).toHaveBeenCalledTimes(1);
    startLate();
    await until('it is stopped again', () => stops.mock.calls.length === 2);
  });

  it('that cannot start is tried again with the sweeps', async () => {
    const refusal = new Error('The broker is away');
    let starts = 0;
    class Reluctant extends MemoryDriver {
      override start(onRing: OnRing): Promise<void> {
        starts += 1;
        return starts < 3 ? Promise.reject(refusal) : super.start(onRing);
      }
    }
    await boot(new Reluctant({ onError: () => undefined }));
    expect(told.mock.calls).toEqual([['unhealthy', refusal]]);
    await isHandled('ann');
    await isHealthy();
    expect(starts).toBe(3);
  });
});

it('a driver that is known by its name ends the start where it cannot be started as it is set up', async () => {
  class NotSetUp extends MemoryDriver {
    override start(): Promise<void> {
      return Promise.reject(new Error('No such folder'));
    }
  }
  const create = async () => new NotSetUp({ onError: () => undefined });
  const said = { summary: 'nowhere', abilities: TRUSTED_ABILITIES };
  registerTimerDriver({ ...{ name: 'not-set-up', needs: [], create }, ...said });
  await expect(boot('not-set-up')).rejects.toThrow('No such folder');
});
