/** So far a clock is set forward when a measurement says so. */
export const CLOCK_STEP_MS = 30_000;

/** From SIGUSR2 on this process's clock is ahead; timers of Node run on, as on a real machine. */
export function stepClockWhenTold(): void {
  const RightDate = Date;
  let aheadMs = 0;
  const nowMs = (): number => RightDate.now() + aheadMs;
  globalThis.Date = new Proxy(RightDate, {
    construct: (target, args: [], newTarget: typeof Date) =>
      Reflect.construct(target, args.length === 0 ? [nowMs()] : args, newTarget) as Date,
    get: (target, name, receiver): unknown =>
      name === 'now' ? nowMs : Reflect.get(target, name, receiver),
  });
  process.on('SIGUSR2', () => (aheadMs += CLOCK_STEP_MS));
}
