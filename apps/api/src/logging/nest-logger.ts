import type { LoggerService } from '@nestjs/common';
import type { Logger } from './logger';

/** What Nest says of itself, as lines of our log. Its start-up chatter is for debugging. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...context: unknown[]): void {
    this.logger.debug(facts(context), text(message));
  }

  warn(message: unknown, ...context: unknown[]): void {
    this.logger.warn(facts(context), text(message));
  }

  error(message: unknown, ...context: unknown[]): void {
    if (message instanceof Error) this.logger.error({ err: message, ...facts(context) });
    else this.logger.error(facts(context), text(message));
  }

  fatal(message: unknown, ...context: unknown[]): void {
    this.logger.fatal(facts(context), text(message));
  }

  debug(message: unknown, ...context: unknown[]): void {
    this.logger.debug(facts(context), text(message));
  }

  verbose(message: unknown, ...context: unknown[]): void {
    this.logger.trace(facts(context), text(message));
  }
}

/** Nest passes the name of the class that speaks as the last argument, an error's stack before. */
function facts(context: readonly unknown[]): { from?: unknown; stack?: unknown } {
  const from = context.at(-1);
  const stack = context.length > 1 ? context[0] : undefined;
  return { ...(from === undefined ? {} : { from }), ...(stack === undefined ? {} : { stack }) };
}

function text(message: unknown): string {
  return message instanceof Error ? message.message : String(message);
}
