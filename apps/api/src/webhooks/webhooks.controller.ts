import { ReceiveWebhook } from '@app/orders';
import { Body, Controller, Headers, Param, Post } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiTags } from '@nestjs/swagger';

import { Public } from '../auth/access';
import { RAW_BODY } from '../http/body-parsers';
import { Unlimited } from '../rate-limit/unlimited';
import { Answers } from '../openapi/answers';
import { TakesWebhook } from '../openapi/takes';

/** Open to everybody, as it is the signature that tells who speaks; and never dropped by a limit. */
@ApiTags('webhooks')
@Controller('v1/webhooks')
@Unlimited()
export class WebhooksController {
  constructor(private readonly webhooks: ReceiveWebhook) {}

  @Post(':provider')
  @Public()
  @RouteConfig(RAW_BODY)
  @TakesWebhook()
  @Answers(200, 'WebhookStored', {
    summary: 'A payment provider tells what happened; 200 means that it is stored',
    refusals: [
      'bad_signature',
      'stale_timestamp',
      'invalid_request',
      'unknown_provider',
      'body_too_large',
      'busy',
    ],
  })
  async receive(
    @Param('provider') provider: string,
    @Body() body: Buffer | undefined,
    @Headers() headers: Record<string, string | string[] | undefined>,
  ): Promise<{ stored: true }> {
    await this.webhooks.receive(provider, body ?? Buffer.alloc(0), headers);
    return { stored: true };
  }
}
