import { Controller, Headers, Param, Post, VERSION_NEUTRAL } from '@nestjs/common';
import { ReceiveWebhook } from '../payments/receive-webhook';
import { Public } from './access';
import { Unlimited } from './limits';
import { SentBytes } from './params';
import { Answers, TakesWebhook, Topic } from './route-facts';

/** Open to everybody, as it is the signature that tells who speaks; and never dropped by a limit. */
@Topic('webhooks')
@Controller({ path: 'v1/webhooks', version: VERSION_NEUTRAL })
@Unlimited(true)
export class WebhooksController {
  constructor(private readonly webhooks: ReceiveWebhook) {}

  @Post(':provider')
  @Public()
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
    @SentBytes() body: Buffer,
    @Headers() headers: Record<string, string | string[] | undefined>,
  ): Promise<{ stored: true }> {
    await this.webhooks.receive(provider, body, headers);
    return { stored: true };
  }
}
