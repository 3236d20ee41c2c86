import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { LastcallError } from '../order/errors';
import { Access, assertGranted } from './access';
import { isSubject, SUBJECT_RULE } from '../order/subject';
import type { HttpRequest, ScopeName } from './caller';

/** Who a host says has called. */
export interface HostCaller {
  /** The customer's or operator's id: 1 to 200 characters. */
  readonly subject: string;
  /** What they may do; a customer's own orders, `['orders']`, unless given. */
  readonly scopes?: readonly ScopeName[] | undefined;
}

/** Injection token: reads the caller of a request that the host's guard has let in. */
export const READ_CALLER = Symbol('ReadCaller');
export type ReadCaller = (
  request: unknown,
) => HostCaller | null | undefined | Promise<HostCaller | null | undefined>;

/** Runs after the host's guard: who is it, and may they do this? */
@Injectable()
export class CallerGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    @Inject(READ_CALLER) private readonly readCaller: ReadCaller,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const access = this.reflector.getAllAndOverride(Access, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (access === 'public') return true;
    const request = context.switchToHttp().getRequest<HttpRequest>();
    const told = await this.readCaller(request);
    if (!told) throw new LastcallError('unauthorized', 'Say who you are');
    const { subject, scopes = ['orders'] } = told;
    if (!isSubject(subject)) {
      throw new Error(`The subject that \`caller\` answers with ${SUBJECT_RULE}`);
    }
    request.caller = { subject, scopes: new Set(scopes) };
    return assertGranted(request.caller, access ?? []);
  }
}
