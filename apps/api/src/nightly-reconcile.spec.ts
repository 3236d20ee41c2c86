import { Reconcile } from '@app/orders';
import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { PrometheusTelemetry } from './metrics/prometheus-telemetry';
import { NightlyReconcile } from './nightly-reconcile';

async function start(runOnce: (signal: AbortSignal) => Promise<void>) {
  const failed = jest.fn();
  const module = await Test.createTestingModule({
    imports: [ScheduleModule.forRoot()],
    providers: [
      NightlyReconcile,
      { provide: Reconcile, useValue: { runOnce } },
      { provide: PrometheusTelemetry, useValue: { failed } },
    ],
  }).compile();
  await module.init();
  const job = module.get(SchedulerRegistry).getCronJob('reconcile');
  return { module, job, failed };
}

describe('the nightly comparison of the books', () => {
  it('is at 03:17 UTC, every day, once in a process', async () => {
    const { module, job } = await start(async () => undefined);
    const [first, second] = job.nextDates(2).map((date) => date.toUTC());
    expect(first?.toFormat('HH:mm:ss')).toBe('03:17:00');
    expect(second?.diff(first as NonNullable<typeof first>).as('hours')).toBe(24);
    expect([...module.get(SchedulerRegistry).getCronJobs().keys()]).toEqual(['reconcile']);
    await module.close();
  });

  it('tells of a failure, and goes on the next night', async () => {
    const { module, job, failed } = await start(() => Promise.reject(new Error('away')));
    await job.fireOnTick();
    expect(failed).toHaveBeenCalledWith('reconcile', new Error('away'));
    expect(job.isActive).toBe(true);
    await module.close();
  });

  it('ends when the process is told to end, which waits for it', async () => {
    const seen: string[] = [];
    let begun = (): void => undefined;
    const hasBegun = new Promise<void>((resolve) => (begun = resolve));
    const { module, job } = await start(async (signal) => {
      begun();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      seen.push('ended');
    });
    const turn = job.fireOnTick();
    await hasBegun;
    await module.close();
    expect(seen).toEqual(['ended']);
    await turn;
  });
});
