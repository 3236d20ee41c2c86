import type { TargetParts } from './target-parts';
import { TargetRetention } from './target-retention';

const TEN_MINUTES = 600_000;

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** Over a database that is away. */
function startRetention({ rings }: { rings: boolean }) {
  const failures: string[] = [];
  const rows = jest.fn().mockRejectedValue(new Error('no database'));
  const runtime = { rings, rows, schema: 'lastcall' };
  const telemetry = { failed: (what: string, why: unknown) => failures.push(`${what}: ${why}`) };
  const retention = new TargetRetention({ runtime, telemetry } as unknown as TargetParts);
  retention.onApplicationBootstrap();
  return { retention, rows, failures };
}

describe('TargetRetention', () => {
  it('has its turn every ten minutes, also after one that failed, until the process ends', async () => {
    const { retention, rows, failures } = startRetention({ rings: true });
    await jest.advanceTimersByTimeAsync(2 * TEN_MINUTES);
    expect(rows).toHaveBeenCalledTimes(2);
    expect(failures).toEqual(Array(2).fill('retention: Error: no database'));
    await retention.beforeApplicationShutdown();
    await jest.advanceTimersByTimeAsync(2 * TEN_MINUTES);
    expect(rows).toHaveBeenCalledTimes(2);
  });

  it('has none in a process that only arms', async () => {
    const { retention, rows } = startRetention({ rings: false });
    await jest.advanceTimersByTimeAsync(2 * TEN_MINUTES);
    expect(rows).not.toHaveBeenCalled();
    await retention.beforeApplicationShutdown();
  });
});
