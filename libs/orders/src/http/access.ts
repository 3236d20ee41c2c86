import { Reflector } from '@nestjs/core';
import { LastcallError } from '../order/errors';
import type { Caller, ScopeName } from './caller';

/** What a route asks of its caller: one of these scopes, or nothing at all. */
export type RouteAccess = 'public' | readonly ScopeName[];

/**
 * Reads and writes what a route asks, by Nest's `Reflector`: for guards, which are to refuse a route
 * that declares nothing.
 */
export const Access = Reflector.createDecorator<RouteAccess>();

/** Open to everybody, known or not. */
export const Public = () => Access('public');

/** Only for callers with one of `scopes`. */
export const Scope = (...scopes: [ScopeName, ...ScopeName[]]) => Access(scopes);

/** @throws {LastcallError} forbidden, naming the scope that is missing */
export function assertGranted(caller: Caller, scopes: readonly ScopeName[]): true {
  if (scopes.some((scope) => caller.scopes.has(scope))) return true;
  const message = `This needs a token with the scope ${scopes.map((scope) => `"${scope}"`).join(' or ')}`;
  throw new LastcallError('forbidden', message, { requiredScope: scopes[0] });
}
