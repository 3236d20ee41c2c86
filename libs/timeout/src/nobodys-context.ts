import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Calls what many callers share in the context of none of them (`AsyncLocalStorage`): that of the process as it
 * loaded this. A host's hooks would else take the member or the tenant of one request for all that are in the set.
 */
export const nobodysContext: { run: <T>(work: () => T) => T } = {
  run: AsyncLocalStorage.snapshot(),
};
