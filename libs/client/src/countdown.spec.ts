import type { Order } from './api';
import { countdownTo } from './countdown';
import { ServerClock } from './server-clock';

const NOON = Date.parse('2026-01-31T12:00:00.000Z');
const at = (ms: number): string => new Date(NOON + ms).toISOString();
const orderOf = (change: Partial<Order>): Order =>
  ({ status: 'pending_payment', payBy: at(600_000), ...change }) as Order;

describe('the time left to pay', () => {
  let now: number;
  let clock: ServerClock;
  beforeEach(() => {
    now = 5_000;
    clock = new ServerClock(() => now);
    clock.heard(at(0), now, now);
  });

  it("runs by a clock that never jumps, from the server's time", () => {
    const countdown = countdownTo(orderOf({}), clock);
    expect(countdown.leftMs()).toBe(600_000);
    now += 90_000;
    expect(countdown.leftMs()).toBe(510_000);
    now += 1_000_000;
    expect(countdown.leftMs()).toBe(0);
  });

  it('is put right by an answer that contradicts it, and by no other', () => {
    const countdown = countdownTo(orderOf({}), clock);
    // Said at some time between sending and receiving: what we think is one of these times.
    clock.heard(at(400), now, now + 1_000);
    expect(countdown.leftMs()).toBe(600_000);
    // The machine has slept for a minute, and its clock with it.
    clock.heard(at(60_000), now, now + 200);
    expect(countdown.leftMs()).toBe(600_000 - 60_000 + 100);
  });

  it('has nothing to count for an order that is paid, free of deadlines or over', () => {
    for (const change of [{ status: 'paid' as const }, { payBy: null }]) {
      expect(countdownTo(orderOf(change), clock).leftMs()).toBeNull();
    }
  });
});

describe('a countdown that is shown', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('tells each second as it begins, follows what it is told, and stops', () => {
    const clock = new ServerClock(() => performance.now());
    clock.heard(at(0), performance.now(), performance.now());
    const countdown = countdownTo(orderOf({ payBy: at(2_300) }), clock);
    const told: (number | null)[] = [];
    const stop = countdown.start((seconds) => told.push(seconds));
    jest.advanceTimersByTime(299);
    expect(told).toEqual([3]);
    jest.advanceTimersByTime(2_001);
    expect(told).toEqual([3, 2, 1, 0]);
    expect(jest.getTimerCount()).toBe(0);
    countdown.update(orderOf({ payBy: at(62_300) }));
    jest.advanceTimersByTime(1_000);
    expect(told.slice(4)).toEqual([60, 59]);
    countdown.update(orderOf({ status: 'paid' }));
    expect(told.at(-1)).toBeNull();
    stop();
    countdown.update(orderOf({ payBy: at(99_000) }));
    expect(told.at(-1)).toBeNull();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('tells each second once, where timers come a little before their time', () => {
    const clock = new ServerClock(() => performance.now() * 0.999);
    clock.heard(at(0), clock.now(), clock.now());
    const told: (number | null)[] = [];
    countdownTo(orderOf({ payBy: at(2_300) }), clock).start((seconds) => told.push(seconds));
    jest.advanceTimersByTime(2_400);
    expect(told).toEqual([3, 2, 1, 0]);
  });
});
