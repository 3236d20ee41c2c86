import { type OrderEventView, OrderFeed, ReadOrder } from '@app/orders';
import { Controller, Get, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Scope } from '../auth/access';
import type { Caller } from '../auth/caller';
import { CurrentCaller, LastEventId, OrderId } from '../input/params';
import { Answers } from '../openapi/answers';
import { TakesLastEventId } from '../openapi/takes';
import { EventStreams } from './event-streams';

@ApiTags('storefront')
@Controller('v1/orders')
export class OrderEventsController {
  constructor(
    private readonly readOrder: ReadOrder,
    private readonly feed: OrderFeed,
    private readonly streams: EventStreams,
  ) {}

  @Get(':id/events')
  @Scope('orders')
  @TakesLastEventId()
  @Answers(200, 'OrderEventStream', {
    summary: 'What happens to an order, as server-sent events; resumable by Last-Event-ID',
    refusals: ['order_not_found', 'rate_limited', 'busy'],
  })
  async follow(
    @CurrentCaller() caller: Caller,
    @OrderId() id: string,
    @LastEventId() after: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    // Whoever may not see the order gets a problem, which a stream that has begun cannot answer.
    await this.readOrder.read(id, caller.subject);
    if (reply.request.method === 'HEAD') return void reply.type('text/event-stream').send();
    await this.streams.serve(reply, caller, (signal) =>
      forCustomers(this.feed.follow(id, caller.subject, after, signal)),
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
