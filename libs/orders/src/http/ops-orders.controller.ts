import { Controller, Get, VERSION_NEUTRAL } from '@nestjs/common';
import type { z } from 'zod';
import { ListOrders } from '../closing/read-order';
import { OrderDetails } from '../ops/order-details';
import type { OrderDetailsView } from '../ops/read-order-details';
import type { OrderView } from '../order/order';
import type { Page } from '../order/page';
import { Scope } from './access';
import { InputQuery, OrderId } from './params';
import { searchOrdersQuery } from './requests';
import { Answers, TakesQuery, Topic } from './route-facts';

/** Everybody's orders, for merchants and operators to look at. */
@Topic('ops')
@Controller({ path: 'v1/ops/orders', version: VERSION_NEUTRAL })
export class OpsOrdersController {
  constructor(
    private readonly orders: ListOrders,
    private readonly details: OrderDetails,
  ) {}

  @Get()
  @Scope('merchant', 'ops:read')
  @TakesQuery(searchOrdersQuery)
  @Answers(200, 'OrderPage', {
    summary:
      'Orders that match, newest first; a page may be short, even empty: the end is a nextCursor of null',
  })
  search(
    @InputQuery(searchOrdersQuery) query: z.output<typeof searchOrdersQuery>,
  ): Promise<Page<OrderView>> {
    const { customer: customerId, id: idPrefix, ...rest } = query;
    const ofOne = customerId !== undefined && { customerId };
    return this.orders.list({ ...ofOne, idPrefix, ...rest });
  }

  @Get(':id')
  @Scope('merchant', 'ops:read')
  @Answers(200, 'OrderDetails', {
    summary: 'All there is to know of an order; an overdue one stays as it is',
    refusals: ['order_not_found'],
  })
  read(@OrderId() id: string): Promise<OrderDetailsView> {
    return this.details.read(id);
  }
}
