import { LastcallError } from '@app/orders';
import { Access, assertGranted } from '@app/orders/http';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { Authenticator } from './authenticator';
import { PageAccess } from './page-access';
import { StreamAccess, TakesStreamToken } from './stream-access';

/** Denies by default: a route is open only as far as it declares (access.ts). */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly authenticator: Authenticator,
    private readonly streams: StreamAccess,
    private readonly pages: PageAccess,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const access = this.reflector.getAllAndOverride(Access, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (access === 'public') return true;
    if (!access) throw new LastcallError('forbidden', 'This route is not open to anybody');
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const takesStreamToken = this.reflector.get(TakesStreamToken, context.getHandler());
    if (takesStreamToken && this.streams.isAsked(request)) return this.streams.admit(request);
    const shown = this.pages.shown(request, access);
    const caller = shown
      ? this.pages.identify(request, shown)
      : this.authenticator.identify(request);
    // No promise when the token is remembered: one turn of the queue less on every request.
    return caller instanceof Promise
      ? caller.then((verified) => assertGranted(verified, access))
      : assertGranted(caller, access);
  }
}
