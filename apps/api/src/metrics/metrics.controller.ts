import { Gauges } from '@app/orders';
import { Scope, Unlimited } from '@app/orders/http';
import { Controller, Get, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';

import type { FastifyReply } from 'fastify';
import { InjectLogger, type Logger } from '../logging/logger';
import { Answers } from '../openapi/answers';
import { InjectPatience, type Patience } from '../patience';
import { PrometheusTelemetry } from './prometheus-telemetry';

@ApiTags('ops')
@Controller('metrics')
@Unlimited(true)
export class MetricsController {
  constructor(
    private readonly gauges: Gauges,
    private readonly telemetry: PrometheusTelemetry,
    @InjectLogger() private readonly logger: Logger,
    @InjectPatience() private readonly patience: Patience,
  ) {}

  @Get()
  @Scope('metrics')
  @Answers(200, 'Metrics', { summary: 'Metrics in the text format of Prometheus', faults: [] })
  async read(@Res() reply: FastifyReply): Promise<void> {
    await this.#refreshGauges();
    const { registry } = this.telemetry;
    await reply.type(registry.contentType).send(await registry.metrics());
  }

  /** What cannot be read says NaN: an old value would look like a true one. */
  async #refreshGauges(): Promise<void> {
    const { readings, failures } = await this.gauges.readWhatCanBe(this.patience.gaugesMs);
    const [err] = failures;
    if (err) this.logger.warn({ err }, 'gauges could not be read');
    this.telemetry.setGauges(readings);
  }
}
