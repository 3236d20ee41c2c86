import { applyDecorators } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiSecurity } from '@nestjs/swagger';

/** The scopes a route can ask for. */
export type ScopeName = 'orders' | 'merchant' | 'ops:read' | 'ops:write' | 'metrics';

/** What each scope of a token grants; one that is not here grants nothing. */
export const SCOPES_IN: Readonly<Record<string, readonly ScopeName[]>> = Object.assign(
  Object.create(null) as object,
  {
    orders: ['orders'],
    merchant: ['merchant'],
    'ops:read': ['ops:read'],
    'ops:write': ['ops:write'],
    metrics: ['metrics'],
    ops: ['ops:read', 'ops:write', 'metrics'],
  } as const,
);

/** What a route asks of its caller. A route that declares nothing is refused (access.guard.ts). */
export const Access = Reflector.createDecorator<'public' | readonly ScopeName[]>();

/** Open to everybody, token or not. */
export const Public = () => Access('public');

/** Only for tokens that grant one of `scopes`. */
export const Scope = (...scopes: [ScopeName, ...ScopeName[]]) =>
  applyDecorators(Access(scopes), ...scopes.map((scope) => ApiSecurity('bearer', [scope])));
