import { NamesInLogs } from '@app/orders';
import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { InjectLogger, type Logger } from './logging/logger';
import { QuietPeriods } from './logging/quiet-periods';
import { PrometheusTelemetry } from './metrics/prometheus-telemetry';
import { clientKey } from './rate-limit/client-address';

/** The refusals that whoever watches over an installation wants to know of. */
const EVENTS: Readonly<Record<string, string>> = {
  unauthorized: 'authentication_failed',
  forbidden: 'access_denied',
  bad_signature: 'webhook_forged',
  stale_timestamp: 'webhook_stale',
  rate_limited: 'rate_limited',
  too_many_open_orders: 'holding_limited',
  too_many_units: 'holding_limited',
  ordering_paused: 'holding_limited',
};

/** What becomes of sessions of the console. */
const SESSION_EVENTS = [
  ...(['console_opened', 'console_left', 'console_refused', 'console_revoked'] as const),
] as const;
type SessionEvent = (typeof SESSION_EVENTS)[number];

/**
 * One line, with `security` and the event's name, for what somebody tried and was refused: from
 * where, as whom (under the name that logs have for them) and at what, and never what they sent. A
 * source that goes on and on speaks once in five seconds, with how often it was kept quiet; the metric
 * counts all. Who gets into the console and out of it is told too. docs/operations.md says how long to
 * keep them.
 */
@Injectable()
export class SecurityLog {
  readonly #quiet = new QuietPeriods();

  constructor(
    @InjectLogger() private readonly logger: Logger,
    private readonly telemetry: PrometheusTelemetry,
    private readonly names: NamesInLogs,
  ) {
    // Each series is there before its first event: an alert on its rise would miss that one.
    const events = [...Object.values(EVENTS), ...SESSION_EVENTS];
    for (const event of events) telemetry.securityEvent(event, 0);
  }

  refused(code: string, request: FastifyRequest): void {
    const event = EVENTS[code];
    // A browser or a script that has simply not signed in yet is no event.
    const isNobody = !request.headers.authorization && !hasQueryToken(request);
    if (!event || (event === 'authentication_failed' && isNobody)) return;
    this.#tell(event, request, request.caller?.subject);
  }

  /** @param subject the operator's; unknown where a code was refused */
  session(event: SessionEvent, request: FastifyRequest, subject?: string): void {
    this.#tell(event, request, subject);
  }

  #tell(event: string, request: FastifyRequest, whose: string | undefined): void {
    this.telemetry.securityEvent(event);
    const source = clientKey(request.ip);
    const unsaid = this.#quiet.unsaidBefore(`${event} ${source}`);
    if (unsaid === undefined) return;
    const { id: requestId, method, routeOptions } = request;
    const facts = { security: event, source, method, route: routeOptions.url, requestId, unsaid };
    void this.#nameOf(whose).then((subject) => this.logger.warn({ ...facts, subject }, event));
  }

  /** A database that is away takes nothing from the line but who it was. */
  async #nameOf(subject: string | undefined): Promise<string | undefined> {
    return subject === undefined ? undefined : this.names.of(subject).catch(() => 'unknown');
  }
}

const hasQueryToken = ({ query }: FastifyRequest): boolean =>
  typeof query === 'object' && query !== null && 'token' in query;
