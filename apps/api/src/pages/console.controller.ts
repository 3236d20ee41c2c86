import { LastcallError, PageSessions } from '@app/orders';
import { Costly, InputBody, Public, Scope } from '@app/orders/http';
import { Controller, Delete, Get, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Config } from '@app/orders';
import { API_CONFIG } from '../api-config';
import { Authenticator } from '../auth/authenticator';
import { type Caller, CurrentCaller } from '../auth/caller';
import { invalidToken } from '../auth/invalid-token';
import { assertSameOrigin, forgetConsole, PageAccess, sessionCookie } from '../auth/page-access';
import { SecurityLog } from '../security-log';
import { sendPage } from './document';
import { WebAssets } from './web-assets';

const CODES_A_MINUTE = 30;
/** A working day. */
const SESSION_MS = 8 * 3_600_000;
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/;

const openSessionBody = z
  .strictObject({ code: z.string().min(1, 'must be the code of the link').max(100) })
  .nullish();

/** The console for operators: one document, and how a browser gets in and out. */
@ApiExcludeController()
@Controller('console')
export class ConsoleController {
  constructor(
    private readonly assets: WebAssets,
    private readonly sessions: PageSessions,
    private readonly access: PageAccess,
    private readonly authenticator: Authenticator,
    private readonly security: SecurityLog,
    @Inject(API_CONFIG) private readonly config: Pick<Config, 'ENVIRONMENT'>,
  ) {}

  @Get()
  @Public()
  page(@Res() reply: FastifyReply): void {
    sendPage(reply, {
      title: 'lastcall console',
      script: this.assets.urlOf('console.js'),
      style: this.assets.urlOf('console.css'),
      content: '<main><p>The console needs JavaScript.</p></main>',
    });
  }

  /** Trades a code of `lastcall console open`, or a token with the scope ops:read, for a cookie. */
  @Post('session')
  @HttpCode(204)
  @Public()
  @Costly(CODES_A_MINUTE)
  async open(
    @Req() request: FastifyRequest,
    @InputBody(openSessionBody) body: z.output<typeof openSessionBody>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    assertSameOrigin(request);
    assertEncrypted(request);
    const opened = body
      ? await this.sessions.open('console', body.code)
      : await this.#openByToken(request);
    if (!opened) {
      this.security.session('console_refused', request);
      throw invalidToken('This code has been used, or is over; `lastcall console open` makes one');
    }
    this.security.session('console_opened', request, opened.session.subject);
    reply.header('set-cookie', sessionCookie(opened.token, opened.session));
  }

  @Get('session')
  @Scope('ops:read')
  read(@CurrentCaller() { subject, scopes, expiresAtMs }: Caller): object {
    return {
      actor: subject,
      scopes: [...scopes],
      endsAt: new Date(expiresAtMs).toISOString(),
      environment: this.config.ENVIRONMENT ?? null,
    };
  }

  @Delete('session')
  @HttpCode(204)
  @Scope('ops:read')
  async end(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    const shown = this.access.shown(request, ['ops:read']);
    const session = shown && (await this.sessions.find('console', shown.token));
    if (session) await this.sessions.revoke('console', { id: session.id });
    this.security.session('console_left', request, session?.subject);
    reply.header('set-cookie', forgetConsole());
  }

  async #openByToken(request: FastifyRequest) {
    const caller = await this.authenticator.identify(request);
    const scopes = [...caller.scopes].filter((scope) => scope.startsWith('ops:'));
    if (!scopes.includes('ops:read')) {
      throw new LastcallError('forbidden', 'The console needs a token with the scope "ops:read"');
    }
    const lifetimeMs = Math.min(SESSION_MS, caller.expiresAtMs - Date.now());
    return this.sessions.openFor({ page: 'console', subject: caller.subject, scopes, lifetimeMs });
  }
}

/** A cookie that goes over the wire in clear is everybody's. @throws {LastcallError} forbidden */
function assertEncrypted({ protocol, host }: FastifyRequest): void {
  if (protocol === 'https' || LOOPBACK.test(host)) return;
  const message = 'The console wants HTTPS, but on this machine; behind a proxy set TRUST_PROXY';
  throw new LastcallError('forbidden', message);
}
