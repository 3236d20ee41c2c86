import type { ErrorAnswer } from '@app/orders/http';
import { Catch, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { KnownRoutes } from '../http/known-routes';
import { ProblemFilter } from '../http/problem.filter';
import { InjectLogger, type Logger } from '../logging/logger';
import { SecurityLog } from '../security-log';
import { sendPage } from './document';
import { languageOf } from './languages';
import { sayPage } from './say-page';
import { WebAssets } from './web-assets';

/** Sooner than a buyer gives up, and no burden; never before `Retry-After`. */
const AGAIN_AFTER_S = 5;
const TOO_MANY_REQUESTS = 429;

/** What a buyer's browser has asked for is a page, also where it cannot be shown. */
@Catch()
@Injectable()
export class PageFilter extends ProblemFilter {
  constructor(
    @InjectLogger() logger: Logger,
    routes: KnownRoutes,
    security: SecurityLog,
    private readonly assets: WebAssets,
  ) {
    super(logger, routes, security);
  }

  protected override send(reply: FastifyReply, answer: ErrorAnswer): void {
    const { assets } = this;
    if (!assets.areBuilt) return super.send(reply, answer);
    const { request } = reply;
    const { problem, headers } = answer;
    const passes = problem.status >= 500 || problem.status === TOO_MANY_REQUESTS;
    // Of who was about to pay: to the page, which knows how the order stands by then.
    const url = request.url.replace(/^([^?]*)\/pay(?=\?|$)/, '$1');
    const inS = Math.max(AGAIN_AFTER_S, Number(headers['retry-after'] ?? 0));
    reply.headers({ ...headers, ...(passes && { refresh: `${inS}; url=${url}` }) });
    const language = languageOf(request, assets.languages);
    sendPage(reply, sayPage(assets, language, passes ? 'away' : 'link'), problem.status);
  }
}
