type Hit = (name: string) => Promise<void> | void;

let hit: Hit | undefined;

/**
 * Names a step at which tests let this process die, pause or fail. Does nothing unless a test's
 * own entry point has called {@link onFailpoint}: no setting and no environment variable does.
 */
export function failpoint(name: string): Promise<void> | void {
  return hit?.(name);
}

/** For the entry points of tests alone. What `handler` throws, the step throws. */
export function onFailpoint(handler: Hit | undefined): void {
  hit = handler;
}
