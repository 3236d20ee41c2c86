import * as fc from 'fast-check';
import { Histogram, Registry } from 'prom-client';
import { CountedHistogram } from './counted-histogram';

const told = {
  ...{ name: 'lag_seconds', help: 'How late', labelNames: ['by', 'kind'] as const },
  buckets: [0.5, 1, 4],
};

it('says what prom-client says that was told one by one', async () => {
  const observation = fc.record({
    labels: fc.record(
      { by: fc.constantFrom('timer', 'sweep'), kind: fc.constantFrom('a', 'b') },
      { requiredKeys: ['by'] },
    ),
    // Sums of quarters are the same in any order.
    value: fc.integer({ min: 0, max: 20 }).map((quarters) => quarters / 4),
    count: fc.integer({ min: 0, max: 30 }),
  });
  const property = fc.asyncProperty(fc.array(observation, { maxLength: 12 }), async (all) => {
    const [ours, referee] = [new Registry(), new Registry()];
    const counted = new CountedHistogram({ ...told, registers: [ours] });
    const oneByOne = new Histogram({ ...told, registers: [referee] });
    for (const { labels, value, count } of all) {
      counted.observeMany(labels, value, count);
      for (let each = 0; each < count; each++) oneByOne.observe(labels, value);
    }
    expect(await ours.metrics()).toBe(await referee.metrics());
  });
  await fc.assert(property);
});

it('refuses what prom-client refuses, and counts nothing of it', async () => {
  const registry = new Registry();
  const counted = new CountedHistogram({ ...told, registers: [registry] });
  expect(() => counted.observeMany({ by: 'timer' }, Number.NaN, 5)).toThrow(TypeError);
  expect(() => counted.observeMany({ other: 'x' } as never, 1, 5)).toThrow('not included');
  expect(await registry.metrics()).not.toContain('lag_seconds_count');
});
