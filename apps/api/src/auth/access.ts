import { applyDecorators } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiSecurity } from '@nestjs/swagger';

/** The scopes a token can grant. */
export type ScopeName = 'orders' | 'merchant' | 'ops';

/** What a route asks of its caller. A route that declares nothing is refused (access.guard.ts). */
export const Access = Reflector.createDecorator<'public' | ScopeName>();

/** Open to everybody, token or not. */
export const Public = () => Access('public');

/** Only for tokens that grant `scope`. */
export const Scope = (scope: ScopeName) =>
  applyDecorators(Access(scope), ApiSecurity('bearer', [scope]));
