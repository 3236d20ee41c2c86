import { Client } from 'pg';
import { openWorld, silentDriver, type World } from '../../../../test/support/world';

const FAR = 2_000_000;
const NEAR = 200_000;
/** Of one statement that inserts them. */
const CHUNK = 200_000;
/** A statement of everyday size; of all deadlines at once it would be many seconds. */
const LONGEST_MS = 2_000;

let world: World;
const alarms: { id: string; at: Date }[] = [];
beforeAll(async () => {
  const survey = async () => ({
    generation: 'one',
    alarms: async function* () {
      yield* alarms;
    },
  });
  world = await openWorld({ driver: { ...silentDriver, survey } });
  for (const [table, count, from, spanS] of [
    ['far_deadlines', FAR, '2 hours', 30 * 86_400],
    ['near_deadlines', NEAR, '1 minute', 600],
  ] as const) {
    for (let first = 1; first <= count; first += CHUNK) {
      await world.rows(
        `INSERT INTO ${table} (kind, due_at, subject_id, far)
         SELECT 'payment', now() + interval '${from}' + i * interval '${spanS} s' / ${count},
                gen_random_uuid(), ${table === 'far_deadlines'}
           FROM generate_series(${first}, ${first + CHUNK - 1}) AS i`,
      );
    }
  }
}, 120_000);
afterAll(() => world?.close());

it('compares alarms with millions of deadlines by statements that are short', async () => {
  const [due] = await world.rows<{ far: Date }>('SELECT min(due_at) AS far FROM far_deadlines');
  // One that a far deadline calls for, and one that nothing does.
  const called = Math.ceil((due?.far.getTime() ?? 0) / 100) * 100;
  const tomorrow = Math.ceil(Date.now() / 100) * 100 + 3_600_000;
  for (const endMs of [called, tomorrow]) {
    alarms.push({ id: `slot-${endMs}`, at: new Date(endMs) });
  }
  const tookMs: number[] = [];
  const { query } = Client.prototype as unknown as { query: (...args: unknown[]) => unknown };
  const spy = jest.spyOn(Client.prototype, 'query').mockImplementation(function (
    this: Client,
    ...args: unknown[]
  ) {
    const startedAt = performance.now();
    const answer = query.apply(this, args);
    const told = (): void => void tookMs.push(performance.now() - startedAt);
    if (answer instanceof Promise) void answer.then(told, told);
    return answer;
  });
  const report = await world.timeouts.verifyAlarms.run();
  spy.mockRestore();
  expect(report).toMatchObject({ alarms: 2, orphaned: { count: 1, sample: [alarms[1]] } });
  expect(report.expected).toBeGreaterThan(5_000);
  expect(report.missing.count).toBe(report.expected);
  expect(tookMs.length).toBeGreaterThan(0);
  process.stdout.write(`the longest of ${tookMs.length}: ${Math.round(Math.max(...tookMs))} ms\n`);
  expect(Math.max(...tookMs)).toBeLessThan(LONGEST_MS);
}, 120_000);
