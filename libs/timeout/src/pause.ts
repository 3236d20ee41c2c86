/** By the global timer, which the race explorer replaces: node:timers/promises goes past it. */
export function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
