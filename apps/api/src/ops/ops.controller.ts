import {
  ExtendWindow,
  ForceCloseOrder,
  type OrderView,
  Overview,
  type OverviewView,
} from '@app/orders';
import { Controller, Get, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';
import { Scope } from '../auth/access';
import { InputBody, OrderId, Subject } from '../input/params';
import { forceCloseBody, operatorExtensionBody } from '../input/requests';
import { Answers } from '../openapi/answers';
import { Takes } from '../openapi/takes';

/** For operators; every change is written down with who made it and why. */
@ApiTags('ops')
@Controller('v1/ops')
export class OpsController {
  constructor(
    private readonly forceCloseOrder: ForceCloseOrder,
    private readonly extendWindow: ExtendWindow,
    private readonly overview: Overview,
  ) {}

  @Get('overview')
  @Scope('ops:read')
  @Answers(200, 'Overview', { summary: 'How the orders, deadlines and refunds are doing' })
  read(): Promise<OverviewView> {
    return this.overview.read();
  }

  @Post('orders/:id/force-close')
  @Scope('ops:write')
  @Takes(forceCloseBody)
  @Answers(200, 'Order', {
    summary: 'Close an unpaid order now',
    refusals: ['order_not_found', 'order_not_closable', 'busy'],
  })
  forceClose(
    @Subject() actor: string,
    @OrderId() id: string,
    @InputBody(forceCloseBody) { reason }: z.output<typeof forceCloseBody>,
  ): Promise<OrderView> {
    return this.forceCloseOrder.forceClose(id, { actor, reason });
  }

  @Post('orders/:id/extension')
  @Scope('ops:write')
  @Takes(operatorExtensionBody)
  @Answers(200, 'Order', {
    summary: 'Give an unpaid order more time',
    refusals: ['order_not_found', 'order_not_extendable', 'busy'],
  })
  extend(
    @Subject() actor: string,
    @OrderId() id: string,
    @InputBody(operatorExtensionBody) { seconds, reason }: z.output<typeof operatorExtensionBody>,
  ): Promise<OrderView> {
    const byMs = seconds * 1_000;
    return this.extendWindow.extend(id, { by: 'operator', actor, byMs, reason });
  }
}
