import { LastcallError, PlaceOrder, ReadOrder } from '@app/orders';
import { Costly, InputBody, noBody, OrderId, Scope, Subject } from '@app/orders/http';
import { Controller, Post, Req } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { type Caller, CurrentCaller } from '../auth/caller';
import { Answers } from '../openapi/answers';
import { type CheckoutLink, CheckoutLinks } from '../pages/checkout-links';

type NoBody = z.output<typeof noBody>;

/** Each is kept for a while. */
const LINKS_A_MINUTE = 30;
/** Whose goods nobody holds any more. */
const REPEATABLE: readonly string[] = ['closed', 'canceled'];

@ApiTags('storefront')
@Controller('v1/orders')
export class CheckoutLinksController {
  constructor(
    private readonly readOrder: ReadOrder,
    private readonly placeOrder: PlaceOrder,
    private readonly links: CheckoutLinks,
  ) {}

  @Post(':id/checkout-link')
  @Costly(LINKS_A_MINUTE)
  @Scope('orders')
  @Answers(201, 'CheckoutLink', {
    summary: 'A link to the checkout page of this order, good for one browser',
    refusals: ['order_not_found'],
  })
  async link(
    @CurrentCaller() caller: Caller,
    @OrderId() id: string,
    @InputBody(noBody) _body: NoBody,
    @Req() request: FastifyRequest,
  ): Promise<CheckoutLink> {
    await this.readOrder.read(id, caller.subject);
    return this.links.createAnother(request, id, caller);
  }

  @Post(':id/again')
  @Costly(LINKS_A_MINUTE)
  @Scope('orders')
  @Answers(201, 'CheckoutLink', {
    summary:
      'Place the same order again, at the prices of now; one copy, however often asked within 24 hours',
    refusals: [
      'order_not_found',
      'order_not_repeatable',
      'unknown_sku',
      'mixed_currencies',
      'out_of_stock',
      'too_many_open_orders',
      'too_many_units',
      'ordering_paused',
      'busy',
    ],
  })
  async again(
    @Subject() customerId: string,
    @OrderId() id: string,
    @InputBody(noBody) _body: NoBody,
    @Req() request: FastifyRequest,
  ): Promise<CheckoutLink> {
    const { status, items } = await this.readOrder.read(id, customerId);
    if (!REPEATABLE.includes(status)) {
      const message = `This order is ${status}; only a closed or canceled one can be placed again`;
      throw new LastcallError('order_not_repeatable', message);
    }
    const { order } = await this.placeOrder.place({
      customerId,
      // Known for as long as any key is (retention.ts): whoever asks days later gets another copy.
      idempotencyKey: `again-${id}`,
      items: items.map(({ sku, quantity }) => ({ sku, quantity })),
      expectedTotal: undefined,
    });
    return this.links.create(request, order.id, customerId);
  }
}
