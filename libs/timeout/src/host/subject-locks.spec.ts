import 'reflect-metadata';
import { Test, type TestingModule } from '@nestjs/testing';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database';
import { until } from '../../../../test/support/until';
import { RedlockLock } from '../locks/redlock.lock';
import { runtimeToken, type TimeoutRuntime } from '../module';
import { DeadlineHandler, type Due, fromPg, type HandlesDue, TimeoutModule } from '../public';
import { silentTelemetry } from '../telemetry';
import { OwnRedis } from '../testing/own-redis';
import { Pool } from 'pg';

const KIND = 'trial-end';

/** Fails for the subjects that it is told to, once it has seen them. */
@DeadlineHandler(KIND)
class EndTrials implements HandlesDue {
  readonly ended: string[] = [];
  readonly refused = new Set<string>();
  tries = 0;

  handle(due: readonly Due[]): Promise<{ changed: number }> {
    const subjects = due.map(({ subjectId }) => subjectId);
    this.tries += 1;
    if (subjects.some((one) => this.refused.has(one))) throw new Error('no such trial');
    this.ended.push(...subjects);
    return Promise.resolve({ changed: due.length });
  }
}

let database: TestDatabase;
let redis: OwnRedis;
let app: TestingModule;
let pool: Pool;
/** As a host's own code has it, which changes a subject when its payment comes. */
let callback: RedlockLock;

const lockOf = (): RedlockLock =>
  new RedlockLock({
    redis: redis.url,
    onError: () => undefined,
    callTimeoutMs: 10_000,
    ttlMs: 20_000,
  });
const service = () => app.get<TimeoutRuntime>(runtimeToken('default')).service;
const handler = () => app.get(EndTrials);

/** Long due. */
const arm = (subjects: string[]) =>
  app.get<TimeoutRuntime>(runtimeToken('default')).timeouts.arm(
    fromPg(pool),
    subjects.map((subjectId) => ({ kind: KIND, subjectId, dueAt: new Date(0) })),
  );
const isFree = async (subject: string): Promise<boolean> => {
  const held = await callback.acquireFree([`lock:${KIND}:${subject}`]);
  await held.release();
  return held.outcome === 'held';
};

beforeAll(async () => {
  [database, redis] = await Promise.all([createTestDatabase(), OwnRedis.start()]);
  pool = new Pool({ connectionString: database.url });
});
beforeEach(async () => {
  callback = lockOf();
  app = await Test.createTestingModule({
    imports: [
      TimeoutModule.forRoot({
        postgres: { url: database.url },
        driver: 'memory',
        lock: lockOf(),
        telemetry: silentTelemetry,
      }),
    ],
    providers: [EndTrials],
  }).compile();
  await app.init();
});
afterEach(async () => {
  await app.close();
  await callback.close();
});
afterAll(async () => {
  await pool?.end();
  await redis?.remove();
  await database?.drop();
});

it('leaves a subject alone that somebody holds by its key, and no other', async () => {
  const paying = await callback.acquireOne(`lock:${KIND}:7`);
  await arm(['7', '8']);
  await until('the other is handled', () => handler().ended.includes('8'));
  await service().idle();
  expect(handler().ended).toEqual(['8']);
  await paying.release();
  await until('it is handled', () => handler().ended.includes('7'));
});

it('gives the keys back, whatever became of the batch', async () => {
  handler().refused.add('9');
  await arm(['9', '10']);
  await until('the other is handled', () => handler().ended.includes('10'));
  await until('it was tried alone', () => handler().tries > 2);
  await service().idle();
  await until('both are free', async () => (await isFree('9')) && (await isFree('10')));
});
