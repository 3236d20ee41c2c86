import type { ScopeName } from '@app/orders/http';

/** What each scope of a token grants; one that is not here grants nothing. */
export const SCOPES_IN: Readonly<Record<string, readonly ScopeName[]>> = Object.assign(
  Object.create(null) as object,
  {
    orders: ['orders'],
    merchant: ['merchant'],
    'ops:read': ['ops:read'],
    'ops:write': ['ops:write'],
    'ops:admin': ['ops:admin'],
    metrics: ['metrics'],
    ops: ['ops:read', 'ops:write', 'ops:admin', 'metrics'],
  } as const,
);
