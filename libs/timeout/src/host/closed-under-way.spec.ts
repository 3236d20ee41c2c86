import 'reflect-metadata';
import { Test } from '@nestjs/testing';
import { Pool } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database';
import { MemoryDriver } from '../drivers/memory/memory.driver';
import { Gate } from '../testing/gate';
import {
  DeadlineHandler,
  type Due,
  fromPg,
  getTimeoutsToken,
  type HandlesDue,
  InjectTimeouts,
  TimeoutModule,
  Timeouts,
  type Tx,
} from '../public';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.drop());

it('an application that closes while a batch is under way tells of no store that is unhealthy', async () => {
  const [handling, stopping] = [new Gate(), new Gate()];
  class Driver extends MemoryDriver {
    override stop(): Promise<void> {
      const stopped = super.stop();
      stopping.open();
      return stopped;
    }
  }
  @DeadlineHandler('reminder')
  class Remind implements HandlesDue {
    constructor(@InjectTimeouts() private readonly timeouts: Timeouts) {}

    async handle(due: readonly Due[], tx: Tx): Promise<{ changed: number }> {
      await handling.pass();
      const dueAt = new Date(Date.now() + 60_000);
      await this.timeouts.arm(
        tx,
        due.map((one) => ({ ...one, dueAt })),
      );
      return { changed: due.length };
    }
  }
  const [failed, timerStore] = [jest.fn(), jest.fn()];
  const telemetry = { failed, timerStore };
  const postgres = { url: database.url };
  const driver = new Driver({ onError: failed });
  const module = await Test.createTestingModule({
    imports: [TimeoutModule.forRoot({ postgres, driver, telemetry })],
    providers: [Remind],
  }).compile();
  await module.init();
  const pool = new Pool({ connectionString: database.url });
  const timeouts = module.get<Timeouts>(getTimeoutsToken());
  await timeouts.arm(fromPg(pool), { kind: 'reminder', subjectId: 'ann', dueAt: new Date() });
  await handling.reached();
  const closed = module.close();
  await stopping.pass();
  handling.open();
  await closed;
  const { rows } = await pool.query('SELECT 1 FROM lastcall.deadlines WHERE due_at > now()');
  await pool.end();
  expect(rows).toHaveLength(1);
  expect(timerStore.mock.calls).toEqual([]);
  expect(failed.mock.calls).toEqual([]);
});
