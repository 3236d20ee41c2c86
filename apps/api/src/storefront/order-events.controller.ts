import {
  type OrderEventView,
  OrderFeed,
  ReadOrder,
  type StreamToken,
  StreamTokens,
} from '@app/orders';
import { InputBody, LastEventId, noBody, OrderId, Scope } from '@app/orders/http';
import { Controller, Get, Post, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { type Caller, CurrentCaller } from '../auth/caller';
import { OrStreamToken } from '../auth/stream-access';
import { Answers } from '../openapi/answers';
import { TakesLastEventId } from '../openapi/takes';
import { EventStreams } from './event-streams';

type NoBody = z.output<typeof noBody>;

@ApiTags('storefront')
@Controller('v1/orders')
export class OrderEventsController {
  constructor(
    private readonly readOrder: ReadOrder,
    private readonly feed: OrderFeed,
    private readonly streams: EventStreams,
    private readonly tokens: StreamTokens,
  ) {}

  @Post(':id/stream-token')
  @Scope('orders')
  @Answers(201, 'StreamToken', {
    summary: "A token that opens this order's stream in a browser (EventSource), for minutes",
    refusals: ['order_not_found'],
  })
  async issueToken(
    @CurrentCaller() caller: Caller,
    @OrderId() id: string,
    @InputBody(noBody) _body: NoBody,
  ): Promise<StreamToken> {
    await this.readOrder.read(id, caller.subject);
    return this.tokens.issue(id, caller.expiresAtMs);
  }

  @Get(':id/events')
  @Scope('orders')
  @OrStreamToken()
  @TakesLastEventId()
  @Answers(200, 'OrderEventStream', {
    summary: 'What happens to an order, as server-sent events; resumable by Last-Event-ID',
    also: { 204: 'All has been seen: the order is in its final status. EventSource then stops.' },
    refusals: ['order_not_found', 'rate_limited', 'busy'],
  })
  async follow(
    @OrderId() id: string,
    @LastEventId() after: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { caller, streamEndsAtMs, method } = reply.request;
    // Whoever may not see the order gets a problem, which a stream that has begun cannot answer. A
    // stream token is good for this order only, whoever shows it.
    const { customerId } = caller
      ? await this.readOrder.read(id, caller.subject)
      : await this.readOrder.readOfAnyCustomer(id);
    if (await this.feed.isOver(id, after)) return void reply.code(204).send();
    if (method === 'HEAD') return void reply.type('text/event-stream').send();
    const endsAtMs = caller?.expiresAtMs ?? streamEndsAtMs ?? 0;
    await this.streams.serve(reply, { customerId, endsAtMs }, (signal) =>
      forCustomers(this.feed.follow(id, after, signal)),
    );
  }
}

/**
 * Which operator it was, and in which words, is the shop's business: customers get codes. The id is
 * the event's place in this order's history: one counted over all orders would tell how many there
 * are.
 */
async function* forCustomers(
  events: AsyncIterable<OrderEventView>,
): AsyncGenerator<Omit<OrderEventView, 'actor'>> {
  for await (const { actor: _, ...event } of events) {
    const reason = event.by === 'operator' ? 'operator_decided' : event.reason;
    yield { ...event, id: String(event.version), reason };
  }
}
