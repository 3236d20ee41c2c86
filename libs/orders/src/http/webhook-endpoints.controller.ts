import { Controller, Delete, Get, Post, VERSION_NEUTRAL } from '@nestjs/common';
import type { z } from 'zod';
import { Deliveries, type Delivery } from '../deliveries/deliveries';
import {
  DEFAULT_OVERLAP_MS,
  type WebhookEndpoint,
  WebhookEndpoints,
  type WithSecret,
} from '../deliveries/endpoints';
import type { Attempt } from '../deliveries/post-webhook';
import type { Accountable } from '../order/operator-action';
import type { Page } from '../order/page';
import { Scope } from './access';
import { Costly } from './limits';
import { EndpointId, InputBody, InputQuery, Subject } from './params';
import {
  listDeliveriesQuery,
  redeliverBody,
  REDELIVER_BODY_LIMIT,
  rotateBody,
  webhookEndpointBody,
} from './endpoint-requests';
import { noBody, reasonBody } from './request-fields';
import { Answers, Takes, TakesQuery, TakesUpTo, Topic } from './route-facts';

/** Each makes a connection to somewhere else. */
const MAX_TESTS_A_MINUTE = 10;

/** Where a change is made without a reason, the call that made it stands there. */
const accountable = (actor: string, call: string, reason: string | undefined): Accountable => ({
  actor,
  reason: reason ?? `by ${call}`,
});

/** Systems of the shop's own that hear of events (docs/events.md). */
@Topic('ops')
@Controller({ path: 'v1/ops/webhook-endpoints', version: VERSION_NEUTRAL })
export class WebhookEndpointsController {
  constructor(
    private readonly endpoints: WebhookEndpoints,
    private readonly deliveries: Deliveries,
  ) {}

  @Post()
  @Scope('merchant', 'ops:write')
  @Takes(webhookEndpointBody)
  @Answers(201, 'WebhookEndpointWithSecret', {
    summary: 'Send these events to an address from now on; the secret is told this once',
    refusals: ['too_many_webhook_endpoints'],
  })
  create(
    @Subject() actor: string,
    @InputBody(webhookEndpointBody) body: z.output<typeof webhookEndpointBody>,
  ): Promise<WithSecret> {
    const { url, events, reason } = body;
    return this.endpoints.create({ url, events }, accountable(actor, 'POST', reason));
  }

  @Get()
  @Scope('merchant', 'ops:read')
  @Answers(200, 'WebhookEndpointList', { summary: 'All endpoints, the oldest first' })
  async list(): Promise<{ items: WebhookEndpoint[] }> {
    return { items: await this.endpoints.list() };
  }

  @Get(':id')
  @Scope('merchant', 'ops:read')
  @Answers(200, 'WebhookEndpoint', {
    summary: 'One endpoint, and how it does',
    refusals: ['webhook_endpoint_not_found'],
  })
  read(@EndpointId() id: string): Promise<WebhookEndpoint> {
    return this.endpoints.read(id);
  }

  @Delete(':id')
  @Scope('merchant', 'ops:write')
  @Answers(200, 'WebhookEndpointDeleted', {
    summary: 'Send nothing to it any more, and forget what waits',
    refusals: ['webhook_endpoint_not_found'],
  })
  delete(@Subject() actor: string, @EndpointId() id: string): Promise<{ id: string }> {
    return this.endpoints.delete(id, accountable(actor, 'DELETE', undefined));
  }

  @Post(':id/rotate')
  @Scope('merchant', 'ops:write')
  @Takes(rotateBody)
  @Answers(200, 'WebhookEndpointWithSecret', {
    summary: 'Sign with a new secret, and for a while with the present one as well',
    refusals: ['webhook_endpoint_not_found'],
  })
  rotate(
    @Subject() actor: string,
    @EndpointId() id: string,
    @InputBody(rotateBody) body: z.output<typeof rotateBody>,
  ): Promise<WithSecret> {
    const seconds = body?.overlapSeconds;
    const overlapMs = seconds === undefined ? DEFAULT_OVERLAP_MS : seconds * 1_000;
    return this.endpoints.rotate(id, overlapMs, accountable(actor, 'rotate', body?.reason));
  }

  @Post(':id/enable')
  @Scope('merchant', 'ops:write')
  @Takes(reasonBody)
  @Answers(200, 'WebhookEndpoint', {
    summary: 'Send to it again, what waits first',
    refusals: ['webhook_endpoint_not_found'],
  })
  enable(
    @Subject() actor: string,
    @EndpointId() id: string,
    @InputBody(reasonBody) body: z.output<typeof reasonBody>,
  ): Promise<WebhookEndpoint> {
    return this.endpoints.switchOn(id, accountable(actor, 'enable', body?.reason));
  }

  @Post(':id/test')
  @Costly(MAX_TESTS_A_MINUTE)
  @Scope('merchant', 'ops:write')
  @Answers(200, 'WebhookAttempt', {
    summary: 'Send a test event now, once, and tell how it went',
    refusals: ['webhook_endpoint_not_found'],
  })
  test(
    @EndpointId() id: string,
    @InputBody(noBody) _body: z.output<typeof noBody>,
  ): Promise<Attempt> {
    return this.endpoints.test(id);
  }

  @Get(':id/deliveries')
  @Scope('merchant', 'ops:read')
  @TakesQuery(listDeliveriesQuery)
  @Answers(200, 'DeliveryPage', {
    summary: 'What was, is and will be sent to it, newest first',
    refusals: ['webhook_endpoint_not_found'],
  })
  listDeliveries(
    @EndpointId() endpointId: string,
    @InputQuery(listDeliveriesQuery) query: z.output<typeof listDeliveriesQuery>,
  ): Promise<Page<Delivery>> {
    return this.deliveries.list({ endpointId, ...query });
  }

  @Post(':id/redeliver')
  @Scope('merchant', 'ops:write')
  @Takes(redeliverBody)
  @TakesUpTo(REDELIVER_BODY_LIMIT)
  @Answers(200, 'Redelivered', {
    summary: 'Send these deliveries again, or without a list the dead, 10,000 at a time',
    refusals: ['webhook_endpoint_not_found', 'webhook_delivery_not_found'],
  })
  redeliver(
    @Subject() actor: string,
    @EndpointId() id: string,
    @InputBody(redeliverBody) body: z.output<typeof redeliverBody>,
  ): Promise<{ redelivered: number }> {
    const by = accountable(actor, 'redeliver', body?.reason);
    return this.deliveries.redeliver(id, body?.deliveries, by);
  }
}
