import { Logger } from '@nestjs/common';
import { until } from '../../../../test/support/until';
import { silentTelemetry } from '../telemetry';
import { type HostTelemetry, soundTelemetry } from './sound-telemetry';

const sound = (given: HostTelemetry) => soundTelemetry(given, silentTelemetry, 'Timeouts');

describe('telemetry of a host, as we call it', () => {
  const said: string[] = [];
  beforeEach(() => {
    said.length = 0;
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((text) => void said.push(String(text)));
  });
  afterEach(() => jest.restoreAllMocks());

  it('is silent where the host has nothing to say', () => {
    const told: string[] = [];
    const telemetry = sound({ failed: (what) => void told.push(what) });
    telemetry.swept({ armed: 0, oldestLagMs: 0, tookMs: 1 });
    telemetry.failed('sweep', new Error('no'));
    expect(Object.keys(telemetry).sort()).toEqual(Object.keys(silentTelemetry).sort());
    expect([told, said]).toEqual([['sweep'], []]);
  });

  it('is called as a method of what the host has given', () => {
    class Counting {
      count = 0;
      failed(): void {
        this.count++;
      }
    }
    const counting = new Counting();
    sound(counting).failed('sweep', undefined);
    expect(counting.count).toBe(1);
  });

  it('ends nothing where it throws or rejects, and says so once a method', async () => {
    const telemetry = sound({
      failed: () => undefined,
      swept: () => {
        throw new Error('statsd is away');
      },
      handled: () => Promise.reject(new Error('no route')) as never,
    });
    for (let turn = 0; turn < 3; turn++) {
      telemetry.swept({ armed: 0, oldestLagMs: 0, tookMs: 1 });
      telemetry.handled('trial-end', { inTime: 1, late: 0 });
    }
    await until('both are told of', () => said.length === 2);
    expect(said).toEqual([
      'telemetry.swept fails, which is said once: statsd is away',
      'telemetry.handled fails, which is said once: no route',
    ]);
  });
});
