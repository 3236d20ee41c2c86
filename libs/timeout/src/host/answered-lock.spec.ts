import 'reflect-metadata';
import { Test, type TestingModule } from '@nestjs/testing';
import { Pool } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database';
import { until } from '../../../../test/support/until';
import type { Held } from '../lock';
import { runtimeToken, type TimeoutRuntime } from '../module';
import {
  DeadlineHandler,
  type Due,
  fromPg,
  type HandlesDue,
  type Lock,
  TimeoutModule,
} from '../public';
import { silentTelemetry } from '../telemetry';

const KIND = 'trial-end';

@DeadlineHandler(KIND)
class EndTrials implements HandlesDue {
  readonly ended: string[] = [];

  handle(due: readonly Due[]): Promise<{ changed: number }> {
    this.ended.push(...due.map(({ subjectId }) => subjectId));
    return Promise.resolve({ changed: due.length });
  }
}

const never = <T>(): Promise<T> => new Promise(() => undefined);
const away = () => Promise.reject(new Error('the store is away'));
const heldOf = (keys: readonly string[], release: Held['release']): Held => ({
  ...{ keys: new Set(keys), outcome: 'held', release },
});
const lockOf = (acquireFree: Lock['acquireFree']): Lock => ({
  acquireFree,
  acquireOne: (key) => acquireFree([key]),
  close: () => Promise.resolve(),
});

let database: TestDatabase;
let pool: Pool;
let app: TestingModule;
const told: string[] = [];

async function open(lock: Lock): Promise<void> {
  app = await Test.createTestingModule({
    imports: [
      TimeoutModule.forRoot({
        postgres: { url: database.url },
        driver: 'memory',
        lock,
        telemetry: {
          ...silentTelemetry,
          failed: (what, error) => void told.push(`${what}: ${String(error)}`),
          batchFailed: () => void told.push('a batch failed'),
        },
      }),
    ],
    providers: [EndTrials],
  }).compile();
  await app.init();
}

/** Of one after the other, so that each has a batch of its own. */
async function endInTurn(subjects: readonly string[]): Promise<void> {
  const { timeouts } = app.get<TimeoutRuntime>(runtimeToken('default'));
  for (const subjectId of subjects) {
    await timeouts.arm(fromPg(pool), { kind: KIND, subjectId, dueAt: new Date(0) });
    await until('it is handled', () => app.get(EndTrials).ended.includes(subjectId));
  }
}

beforeAll(async () => {
  database = await createTestDatabase();
  pool = new Pool({ connectionString: database.url });
});
beforeEach(() => void (told.length = 0));
afterEach(() => app.close());
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

it.each([
  ['never answers', lockOf(() => never()), 'lock: TimeLimitError: The lock did not answer'],
  ['rejects', lockOf(away), 'lock: Error: the store is away'],
  [
    'throws',
    lockOf(() => {
      throw new Error('the store is away');
    }),
    'lock: Error: the store is away',
  ],
  [
    'never gives a key back',
    lockOf(async (keys) => heldOf(keys, never)),
    'lock: TimeLimitError: The lock was not given back',
  ],
  [
    'fails to give a key back',
    lockOf(async (keys) => heldOf(keys, away)),
    'lock: Error: the store',
  ],
])('goes on without a lock of the host that %s, and says so', async (_, lock, words) => {
  await open(lock);
  await endInTurn(['1', '2', '3']);
  await until('it is told of', () => told.length >= 3);
  expect(told.every((one) => one.startsWith(words))).toBe(true);
});
