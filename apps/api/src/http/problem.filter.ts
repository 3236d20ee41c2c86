import { answerTo, type ErrorAnswer, problem, type Problem } from '@app/orders/http';
import { type ArgumentsHost, Catch, type ExceptionFilter, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { InjectLogger, type Logger } from '../logging/logger';
import { QuietPeriods } from '../logging/quiet-periods';
import { SecurityLog } from '../security-log';
import { KnownRoutes } from './known-routes';
import { sendProblem } from './send-problem';

/** The one place where errors become answers; those of Fastify and of unknown routes come here too. */
@Catch()
@Injectable()
export class ProblemFilter implements ExceptionFilter {
  readonly #quiet = new QuietPeriods();

  constructor(
    @InjectLogger() private readonly logger: Logger,
    private readonly routes: KnownRoutes,
    private readonly security: SecurityLog,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const { request } = reply;
    const answer = answerTo(error);
    this.security.refused(answer.problem.code, request);
    // Who hangs up before all is said gets no answer, and has broken nothing of ours.
    const hasLeft = request.raw.destroyed && !request.raw.complete;
    if (answer.isFault && !hasLeft) this.#log(error, answer.problem, request);
    // A stream that has begun can only be cut off: its status is already with the client.
    if (reply.sent || reply.raw.headersSent) {
      reply.raw.destroy();
      return;
    }
    const allowed = answer.problem.status === 404 ? this.routes.allowedMethods(request) : [];
    if (allowed.length > 0) {
      const detail = `This address answers to ${allowed.join(', ')}`;
      sendProblem(reply, problem('method_not_allowed', detail), { allow: allowed.join(', ') });
      return;
    }
    if (answer.problem.status === 413) {
      const detail = `The body is larger than ${request.routeOptions.bodyLimit} bytes, the most that this route takes`;
      sendProblem(reply, problem('body_too_large', detail));
      return;
    }
    this.send(reply, answer);
  }

  protected send(reply: FastifyReply, { problem, headers }: ErrorAnswer): void {
    sendProblem(reply, problem, headers);
  }

  #log(error: unknown, { code }: Problem, request: FastifyRequest): void {
    // Bugs are logged every time. What is away fails thousands of requests a second, all alike.
    const unsaid = code === 'internal_error' ? 0 : this.#quiet.unsaidBefore(code);
    if (unsaid === undefined) return;
    const { id: requestId, method, routeOptions } = request;
    const facts = { err: error, code, requestId, method, route: routeOptions.url, unsaid };
    this.logger.error(facts, 'request failed');
  }
}
