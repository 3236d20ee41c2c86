import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  Injectable,
  Logger,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { answerTo } from './error-problem';
import { PROBLEM_TYPE } from './problem';

/** What a route throws becomes a problem (RFC 9457), on any adapter; what is our fault is logged. */
@Catch()
@Injectable()
export class HttpProblemFilter implements ExceptionFilter {
  readonly #logger = new Logger('Orders');

  constructor(private readonly host: HttpAdapterHost) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const { problem, headers, isFault } = answerTo(error);
    if (isFault) this.#logger.error(problem.detail, error instanceof Error ? error.stack : error);
    const reply: unknown = host.switchToHttp().getResponse();
    const { httpAdapter } = this.host;
    if (httpAdapter.isHeadersSent(reply)) return void httpAdapter.end(reply);
    for (const [name, value] of Object.entries({ ...headers, 'content-type': PROBLEM_TYPE })) {
      httpAdapter.setHeader(reply, name, value);
    }
    httpAdapter.reply(reply, JSON.stringify(problem), problem.status);
  }
}
