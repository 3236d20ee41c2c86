import 'reflect-metadata';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { createTestDatabase, onServer, type TestDatabase } from '../../../../test/support/database';
import { until } from '../../../../test/support/until';
import { DeadlineHandler, type Due, type HandlesDue } from '../public';
import { TimeoutTesting } from '../testing';

const kind = 'trial-end';

@DeadlineHandler(kind)
class EndTrials implements HandlesDue {
  readonly ended: string[] = [];
  isMended = false;

  handle(due: readonly Due[]): Promise<{ changed: number }> {
    for (const { subjectId } of due) {
      if (!this.isMended && subjectId.startsWith('order-')) this.#lookUp(undefined as never);
    }
    this.ended.push(...due.map(({ subjectId }) => subjectId));
    return Promise.resolve({ changed: due.length });
  }

  #lookUp(trial: { readonly foo: string }): string {
    return trial.foo;
  }
}

describe('TimeoutTesting, where a handler throws', () => {
  let database: TestDatabase;
  let t: TimeoutTesting;
  const failed: unknown[][] = [];
  const open = (): Promise<TimeoutTesting> =>
    TimeoutTesting.create({
      ...{ postgres: { url: database.url }, handlers: [EndTrials] },
      telemetry: {
        failed: () => undefined,
        batchFailed: (...args) => void failed.push(args),
      },
    });
  const arm = async (...subjects: string[]): Promise<void> => {
    const dueAt = new Date(Date.now() + 60_000);
    for (const subjectId of subjects) await t.arm({ kind, subjectId, dueAt });
  };
  beforeAll(async () => (database = await createTestDatabase()));
  beforeEach(async () => (t = await open()));
  afterEach(() => t.close());
  afterAll(() => database?.drop());

  it('lets the test fail, once the others are handled, and tries again later', async () => {
    await arm('order-4711', 'one', 'two');
    await expect(t.advance('1m')).rejects.toThrow(`reading 'foo'`);
    expect(t.get(EndTrials).ended.sort()).toEqual(['one', 'two']);
    expect(failed.at(-1)).toEqual([kind, 1, expect.any(TypeError)]);
    t.get(EndTrials).isMended = true;
    await t.advance('1m');
    expect(t.get(EndTrials).ended).toContain('order-4711');
    expect(await t.find({ kind, subjectId: 'order-4711' })).toBeUndefined();
  });

  it('lets it fail where that is so for all', async () => {
    await arm(...Array.from({ length: 10 }, (_, n) => `order-${n}`));
    await expect(t.advance('1m')).rejects.toThrow(`reading 'foo'`);
  });

  it('says in the log which subject it was, and where', async () => {
    await t.close();
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    t = await TimeoutTesting.create({
      ...{ postgres: { url: database.url }, handlers: [EndTrials] },
    });
    await arm('order-4711', 'one');
    await expect(t.advance('1m')).rejects.toThrow(TypeError);
    const said = warn.mock.calls.map(([text]) => String(text));
    warn.mockRestore();
    expect(said.some((one) => one.includes('at EndTrials.handle'))).toBe(true);
    expect(said.at(-1)).toMatch(/^1 of kind "trial-end" failed .*, as that of "order-4711": /);
  });
});

describe('TimeoutTesting, where the application fails', () => {
  @Injectable()
  @DeadlineHandler(kind)
  class NeedsWhatNobodyHas extends EndTrials {
    constructor(@Inject('nobody') readonly nobody: unknown) {
      super();
    }
  }

  @DeadlineHandler(kind)
  class BeginsBadly extends EndTrials {
    onModuleInit(): never {
      throw new Error('no such file');
    }
  }

  let database: TestDatabase;
  beforeEach(async () => {
    database = await createTestDatabase();
    jest.spyOn(Logger.prototype, 'error').mockImplementation();
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await database?.drop();
  });
  const open = (handler: typeof EndTrials | typeof NeedsWhatNobodyHas): Promise<TimeoutTesting> =>
    TimeoutTesting.create({ ...{ postgres: { url: database.url }, handlers: [handler] } });
  const names = async (sql: string): Promise<string[]> => {
    const found: string[] = [];
    await onServer(database.url, async (client) => {
      const { rows } = await client.query<{ name: string }>(sql);
      found.push(...rows.map(({ name }) => name));
    });
    return found.filter((name) => name.startsWith('lastcall'));
  };

  it.each([
    ['needs what nobody has', NeedsWhatNobodyHas, "can't resolve dependencies"],
    ['begins badly', BeginsBadly, 'no such file'],
  ])('leaves nothing behind: one %s', async (_, handler, said) => {
    await expect(open(handler)).rejects.toThrow(said);
    const ours = `SELECT application_name AS name FROM pg_stat_activity WHERE datname = current_database()`;
    // One that was ended a moment ago may still be leaving.
    await until('no session is left', async () => (await names(ours)).length === 0, 3_000);
    expect(await names('SELECT nspname AS name FROM pg_namespace')).toEqual([]);
  });
});
