import { Controller, Get, Post, Res } from '@nestjs/common';
import type { z } from 'zod';
import { ExtendWindow } from '../closing/extend-window';
import { ForceCloseOrder } from '../closing/force-close-order';
import { CancelOrderByOperator } from '../ops/cancel-order-by-operator';
import { CreateRefund } from '../ops/create-refund';
import { Overview, type OverviewView } from '../ops/overview';
import { SettleOrder } from '../ops/settle-order';
import type { OrderView } from '../order/order';
import { Scope } from './access';
import type { HttpReply } from './caller';
import { InputBody, OptionalIdempotencyKey, OrderId, Subject } from './params';
import {
  cancelOrderBody,
  forceCloseBody,
  operatorExtensionBody,
  refundBody,
  settleOrderBody,
} from './requests';
import { Answers, Takes, TakesIdempotencyKey, Topic } from './route-facts';

/** For operators; every change is written down with who made it and why. */
@Topic('ops')
@Controller('v1/ops')
export class OpsController {
  constructor(
    private readonly forceCloseOrder: ForceCloseOrder,
    private readonly extendWindow: ExtendWindow,
    private readonly cancelOrder: CancelOrderByOperator,
    private readonly createRefund: CreateRefund,
    private readonly settleOrder: SettleOrder,
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

  @Post('orders/:id/cancel')
  @Scope('ops:write')
  @Takes(cancelOrderBody)
  @Answers(200, 'Order', {
    summary: 'Cancel a paid order that is not shipped: stock and money go back',
    refusals: ['order_not_found', 'order_not_cancelable', 'busy'],
  })
  async cancel(
    @Subject() actor: string,
    @OrderId() id: string,
    @InputBody(cancelOrderBody) { reason }: z.output<typeof cancelOrderBody>,
  ): Promise<OrderView> {
    return (await this.cancelOrder.cancel(id, { actor, reason })).order;
  }

  @Post('orders/:id/refunds')
  @Scope('ops:write')
  @Takes(refundBody)
  @TakesIdempotencyKey({ required: false, of: 'refund' })
  @Answers(201, 'Order', {
    summary: "Send a part of an order's money back, or all of it, which cancels an unshipped order",
    headers: { 'Idempotent-Replayed': '"true" when this key had requested the refund before' },
    refusals: [
      ...(['order_not_found', 'refund_exceeds_balance', 'restock_exceeds_order'] as const),
      ...(['idempotency_key_reused', 'busy'] as const),
    ],
  })
  async refund(
    @Subject() actor: string,
    @OrderId() id: string,
    @OptionalIdempotencyKey() idempotencyKey: string | undefined,
    @InputBody(refundBody) body: z.output<typeof refundBody>,
    @Res({ passthrough: true }) reply: HttpReply,
  ): Promise<OrderView> {
    const command = { ...body, actor, idempotencyKey };
    const { order, replayed } = await this.createRefund.create(id, command);
    if (replayed) reply.header('Idempotent-Replayed', 'true');
    return order;
  }

  @Post('orders/:id/settle')
  @Scope('ops:write')
  @Takes(settleOrderBody)
  @Answers(200, 'Order', {
    summary: 'End the wait for a provider that will never answer',
    refusals: ['order_not_found', 'order_not_settleable', 'busy'],
  })
  settle(
    @Subject() actor: string,
    @OrderId() id: string,
    @InputBody(settleOrderBody) { as, reason }: z.output<typeof settleOrderBody>,
  ): Promise<OrderView> {
    return this.settleOrder.settle(id, { actor, reason, as });
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
