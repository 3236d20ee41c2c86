import {
  ListOrders,
  OrderDetails,
  type OrderDetailsView,
  type OrderView,
  type Page,
} from '@app/orders';
import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';
import { Scope } from '../auth/access';
import { InputQuery, OrderId } from '../input/params';
import { searchOrdersQuery } from '../input/requests';
import { Answers } from '../openapi/answers';
import { TakesQuery } from '../openapi/takes';

/** Everybody's orders, for merchants and operators to look at. */
@ApiTags('ops')
@Controller('v1/ops/orders')
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
    return this.orders.list({ customerId, idPrefix, ...rest });
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
