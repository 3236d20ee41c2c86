const EVERY_MS = 20;

/** Holds that last `ttlMs` are extended all the time, and not after a third of it: a test need not wait. */
export function extendOften(ttlMs: number): jest.SpyInstance {
  const { setInterval } = globalThis;
  const watched = (run: () => void, ms?: number): NodeJS.Timeout =>
    setInterval(run, ms === ttlMs / 3 ? EVERY_MS : ms);
  return jest.spyOn(globalThis, 'setInterval').mockImplementation(watched);
}
