import type { Order } from './api';
import type { ServerClock } from './server-clock';

/** The time left to pay, by the server's clock. At zero ask the server: it decides. */
export interface Countdown {
  /** Milliseconds, never below 0; null when the order does not wait for a payment in time. */
  leftMs(): number | null;
  /** Goes on with another answer about the order: extended, paid, closed. */
  update(order: Order): void;
  /**
   * Calls with the whole seconds left, now and whenever they change, until it is 0 or null.
   * @returns what stops it
   */
  start(onSecond: (secondsLeft: number | null) => void): () => void;
}

export function countdownTo(order: Order, clock: ServerClock): Countdown {
  let endsAtMs = endOf(order);
  let listener: ((secondsLeft: number | null) => void) | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let said: number | null | undefined;
  const leftMs = (): number | null =>
    endsAtMs === null ? null : Math.max(0, endsAtMs - clock.serverNowMs());
  const tick = (): void => {
    clearTimeout(timer);
    const left = leftMs();
    const seconds = left === null ? null : Math.ceil(left / 1_000);
    // Timers come up to a millisecond early: then the second is the same still.
    if (listener && seconds !== said) listener((said = seconds));
    // To the instant at which another whole second is gone; a corrected clock moves it.
    if (left && listener) timer = setTimeout(tick, left % 1_000 || 1_000);
  };
  return {
    leftMs,
    update(next) {
      endsAtMs = endOf(next);
      tick();
    },
    start(onSecond) {
      listener = onSecond;
      said = undefined;
      tick();
      return () => {
        listener = undefined;
        clearTimeout(timer);
      };
    },
  };
}

function endOf({ status, payBy }: Order): number | null {
  return status === 'pending_payment' && payBy !== null ? Date.parse(payBy) : null;
}
