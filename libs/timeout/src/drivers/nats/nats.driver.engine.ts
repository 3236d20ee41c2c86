import { OwnEngine } from '../../testing/own-engine';
import { alarmIn, Bench, type DriverUnderTest, HOUR_MS } from '../driver-bench';
import { describeTimerDriver } from '../driver.contract';
import { AlarmStream } from './alarm-stream';
import { NATS_ABILITIES } from './nats.abilities';
import { NatsDriver } from './nats.driver';

let server: OwnEngine;
beforeAll(async () => (server = await OwnEngine.start('nats')));
afterAll(() => server?.remove());

const subject: DriverUnderTest = {
  create: ({ namespace: stream, ...wish }) =>
    new NatsDriver({ ...wish, stream, servers: server.url }),
  abilities: NATS_ABILITIES,
  store: () => server,
};

describeTimerDriver('NatsDriver', subject);

describe('NatsDriver', () => {
  let bench: Bench;
  beforeEach(() => (bench = new Bench(subject)));
  afterEach(async () => {
    await bench.close();
    jest.restoreAllMocks();
  });

  it('on a machine an hour behind the server puts off once what came early', async () => {
    const now = Date.now;
    const trueClock = { nowMs: () => now() };
    const alarm = alarmIn(7_000, 'early', trueClock);
    jest.spyOn(Date, 'now').mockImplementation(() => now() - HOUR_MS);
    const schedule = jest.spyOn(AlarmStream.prototype, 'schedule');
    const driver = bench.open(trueClock);
    await driver.start(bench.onRing());
    const ring = bench.ringOf(alarm.id);
    await driver.arm([alarm]);
    await ring;
    expect(trueClock.nowMs()).toBeGreaterThanOrEqual(alarm.at.getTime());
    // Armed, and put off: by the clock that was wrong it came at once, again and again.
    expect(schedule).toHaveBeenCalledTimes(2);
    expect(bench.errors).toEqual([]);
  });
});
