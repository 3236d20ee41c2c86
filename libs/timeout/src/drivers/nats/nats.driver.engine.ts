import { jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { FaultyProxy } from '../../../../../test/faults/proxy';
import { until } from '../../../../../test/support/until';
import { OwnEngine } from '../../testing/own-engine';
import { alarmIn, Bench, type DriverUnderTest, HOUR_MS, surveyed } from '../driver-bench';
import { describeTimerDriver } from '../driver.contract';
import { AlarmStream } from './alarm-stream';
import { natsAddress } from './nats-address';
import { NATS_ABILITIES } from './nats.abilities';
import { NatsDriver } from './nats.driver';

let server: OwnEngine;
let proxy: FaultyProxy;
beforeAll(async () => {
  server = await OwnEngine.start('nats');
  proxy = await FaultyProxy.to(Number(new URL(server.url).port));
});
afterAll(async () => {
  await proxy?.close();
  await server?.remove();
});

/** The stream of the driver that was made last. */
let lastStream: string;

const subject: DriverUnderTest = {
  create: ({ namespace: stream, ...wish }) => {
    lastStream = stream;
    return new NatsDriver({ ...wish, stream, servers: server.url });
  },
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

  it('drops what is no alarm, once, says so, and lists the others', async () => {
    const driver = bench.open();
    const waiting = alarmIn(HOUR_MS);
    await driver.arm([waiting]);
    await driver.start(bench.onRing());
    const connection = await connect(natsAddress(server.url));
    const client = jetstream(connection);
    const strange = ['no alarm of ours', 'null', '{"id":"a","atMs":"soon"}'];
    for (const body of strange) await client.publish(`${lastStream}.due`, body);
    await client.publish(`${lastStream}.at.strange`, 'no alarm of ours');
    await until('each was dropped', () => bench.errors.length >= strange.length);
    expect(bench.errors.map(({ message }) => message)).toEqual(
      strange.map(() => 'A message in NATS is no alarm, and was dropped'),
    );
    const consumer = await client.consumers.get(lastStream, 'ring');
    await until('none waits to come again', async () => {
      const { num_ack_pending: unanswered } = await consumer.info();
      return unanswered === 0;
    });
    expect([...(await surveyed(driver)).keys()]).toEqual([waiting.id]);
    expect(bench.rung).toEqual([]);
    await connection.close();
  });

  it('gives up listing when its connection is hung up in the middle of a page', async () => {
    const distant = new Bench({
      ...subject,
      create: ({ namespace: stream, ...wish }) =>
        new NatsDriver({ ...wish, stream, servers: proxy.through(server.url) }),
    });
    const driver = distant.open();
    await driver.arm([alarmIn(HOUR_MS)]);
    const page = (await driver.survey()).alarms()[Symbol.asyncIterator]();
    proxy.pause();
    const given = expect(page.next()).rejects.toThrow('alarm store');
    // Hung up by the call that is not answered.
    await expect(driver.arm([alarmIn(HOUR_MS)])).rejects.toThrow('alarm store');
    await given;
    proxy.resume();
    expect((await surveyed(driver)).size).toBeGreaterThanOrEqual(1);
    await distant.close();
  }, 20_000);
});
