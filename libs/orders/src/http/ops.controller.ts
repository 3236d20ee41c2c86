import { applyDecorators, Controller, Get, Post, Res, VERSION_NEUTRAL } from '@nestjs/common';
import type { z } from 'zod';
import { ExtendWindow } from '../closing/extend-window';
import { ForceCloseOrder } from '../closing/force-close-order';
import { CancelOrderByOperator } from '../ops/cancel-order-by-operator';
import { CreateRefund } from '../ops/create-refund';
import { FinishRefund } from '../ops/finish-refund';
import { Overview, type OverviewView } from '../ops/overview';
import { SettleOrder } from '../ops/settle-order';
import type { OrderView } from '../order/order';
import { Scope } from './access';
import type { HttpReply } from './caller';
import { InputBody, OptionalIdempotencyKey, OrderId, RefundId, Subject } from './params';
import {
  cancelOrderBody,
  forceCloseBody,
  operatorExtensionBody,
  refundBody,
  settleOrderBody,
  settleRefundBody,
} from './requests';
import { type AnswerWords, Answers, Takes, TakesIdempotencyKey, Topic } from './route-facts';

/** What an operator does to one order: it answers with the order, which others may be changing. */
function OnOrder(
  path: string,
  body: z.ZodType,
  { status = 200, refusals = [], ...words }: AnswerWords & { readonly status?: number },
): MethodDecorator {
  return applyDecorators(
    Post(`orders/:id/${path}`),
    Scope('ops:write'),
    Takes(body),
    Answers(status, 'Order', { ...words, refusals: ['order_not_found', ...refusals, 'busy'] }),
  );
}

/** For operators; every change is written down with who made it and why. */
@Topic('ops')
@Controller({ path: 'v1/ops', version: VERSION_NEUTRAL })
export class OpsController {
  constructor(
    private readonly forceCloseOrder: ForceCloseOrder,
    private readonly extendWindow: ExtendWindow,
    private readonly cancelOrder: CancelOrderByOperator,
    private readonly createRefund: CreateRefund,
    private readonly settleOrder: SettleOrder,
    private readonly finishRefund: FinishRefund,
    private readonly overview: Overview,
  ) {}

  @Get('overview')
  @Scope('ops:read')
  @Answers(200, 'Overview', { summary: 'How the orders, deadlines and refunds are doing' })
  read(): Promise<OverviewView> {
    return this.overview.read();
  }

  @OnOrder('force-close', forceCloseBody, {
    summary: 'Close an unpaid order now',
    refusals: ['order_not_closable'],
  })
  forceClose(
    @Subject() actor: string,
    @OrderId() id: string,
    @InputBody(forceCloseBody) { reason }: z.output<typeof forceCloseBody>,
  ): Promise<OrderView> {
    return this.forceCloseOrder.forceClose(id, { actor, reason });
  }

  @OnOrder('cancel', cancelOrderBody, {
    summary: 'Cancel a paid order that is not shipped: stock and money go back',
    refusals: ['order_not_cancelable'],
  })
  async cancel(
    @Subject() actor: string,
    @OrderId() id: string,
    @InputBody(cancelOrderBody) { reason }: z.output<typeof cancelOrderBody>,
  ): Promise<OrderView> {
    return (await this.cancelOrder.cancel(id, { actor, reason })).order;
  }

  @OnOrder('refunds', refundBody, {
    status: 201,
    summary: "Send a part of an order's money back, or all of it, which cancels an unshipped order",
    headers: { 'Idempotent-Replayed': '"true" when this key had requested the refund before' },
    refusals: [
      'refund_exceeds_balance',
      'amount_not_chargeable',
      'restock_exceeds_order',
      'restock_not_supported',
      'idempotency_key_reused',
    ],
  })
  @TakesIdempotencyKey({ required: false, of: 'refund' })
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

  @OnOrder('settle', settleOrderBody, {
    summary: 'End the wait for a provider that will never answer',
    refusals: ['order_not_settleable'],
  })
  async settle(
    @Subject() actor: string,
    @OrderId() id: string,
    @InputBody(settleOrderBody) body: z.output<typeof settleOrderBody>,
  ): Promise<OrderView> {
    return (await this.settleOrder.settle(id, { ...body, actor })).order;
  }

  @Post('refunds/:id/settle')
  @Scope('ops:write')
  @Takes(settleRefundBody)
  @Answers(200, 'Order', {
    summary: 'End a refund whose money went back by another way than its provider',
    refusals: ['refund_not_found', 'refund_not_settleable', 'busy'],
  })
  async settleRefund(
    @Subject() actor: string,
    @RefundId() id: string,
    @InputBody(settleRefundBody) { amount, reason }: z.output<typeof settleRefundBody>,
  ): Promise<OrderView> {
    return (await this.finishRefund.finish(id, { actor, reason, amount })).order;
  }

  @OnOrder('extension', operatorExtensionBody, {
    summary: 'Give an unpaid order more time',
    headers: { 'Idempotent-Replayed': '"true" when this key had extended the order before' },
    refusals: ['order_not_extendable', 'idempotency_key_reused'],
  })
  @TakesIdempotencyKey({ required: false, of: 'extension' })
  async extend(
    @Subject() actor: string,
    @OrderId() id: string,
    @OptionalIdempotencyKey() idempotencyKey: string | undefined,
    @InputBody(operatorExtensionBody) { seconds, reason }: z.output<typeof operatorExtensionBody>,
    @Res({ passthrough: true }) reply: HttpReply,
  ): Promise<OrderView> {
    const command = { by: 'operator', actor, reason, byMs: seconds * 1_000 } as const;
    const { order, replayed } = await this.extendWindow.extendOnce(id, {
      ...command,
      idempotencyKey,
    });
    if (replayed) reply.header('Idempotent-Replayed', 'true');
    return order;
  }
}
