import { Gauges } from '@app/orders';
import { Scope, Unlimited } from '@app/orders/http';
import { withTimeLimit } from '@app/timeout';
import { Controller, Get, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';

import type { FastifyReply } from 'fastify';
import { InjectLogger, type Logger } from '../logging/logger';
import { Answers } from '../openapi/answers';
import { PrometheusTelemetry } from './prometheus-telemetry';

/** Prometheus gives up after 10 s by default; what this process counts itself need not wait. */
const GAUGES_LIMIT_MS = 1_500;

@ApiTags('ops')
@Controller('metrics')
@Unlimited(true)
export class MetricsController {
  constructor(
    private readonly gauges: Gauges,
    private readonly telemetry: PrometheusTelemetry,
    @InjectLogger() private readonly logger: Logger,
  ) {}

  @Get()
  @Scope('metrics')
  @Answers(200, 'Metrics', { summary: 'Metrics in the text format of Prometheus', faults: [] })
  async read(@Res() reply: FastifyReply): Promise<void> {
    await this.#refreshGauges();
    const { registry } = this.telemetry;
    await reply.type(registry.contentType).send(await registry.metrics());
  }

  /** Without the database the gauges say NaN: an old value would look like a true one. */
  async #refreshGauges(): Promise<void> {
    try {
      this.telemetry.setGauges(
        await withTimeLimit(this.gauges.read(), GAUGES_LIMIT_MS, 'the gauges were not read'),
      );
    } catch (error) {
      this.logger.warn({ err: error }, 'the gauges could not be read');
      this.telemetry.setGauges(undefined);
    }
  }
}
