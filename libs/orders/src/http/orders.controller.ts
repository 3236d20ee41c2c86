import { posix } from 'node:path';
import { Controller, Get, Headers, Post, Res, VERSION_NEUTRAL } from '@nestjs/common';
import type { z } from 'zod';
import { CancelOrder } from '../closing/cancel-order';
import { ExtendWindow } from '../closing/extend-window';
import { ListOrders, ReadOrder } from '../closing/read-order';
import { ConfirmReceipt } from '../fulfilment/confirm-receipt';
import { ShipOrder } from '../fulfilment/ship-order';
import type { OrderView, PaymentView } from '../order/order';
import type { Page } from '../order/page';
import { StartPayment } from '../payments/start-payment';
import { PlaceOrder } from '../placing/place-order';
import { Scope } from './access';
import type { HttpReply } from './caller';
import { entityTagOf, isKnown } from './entity-tag';
import { Costly } from './limits';
import {
  Address,
  IdempotencyKey,
  InputBody,
  InputQuery,
  OptionalIdempotencyKey,
  OrderId,
  Subject,
} from './params';
import {
  customerExtensionBody,
  listOrdersQuery,
  placeOrderBody,
  shipmentBody,
  startPaymentBody,
} from './requests';
import { noBody } from './request-fields';
import {
  Answers,
  Takes,
  TakesIdempotencyKey,
  TakesIfNoneMatch,
  TakesQuery,
  Topic,
} from './route-facts';

export type PlaceOrderBody = z.output<typeof placeOrderBody>;
export type StartPaymentBody = z.output<typeof startPaymentBody>;
export type ListOrdersQuery = z.output<typeof listOrdersQuery>;
export type NoBody = z.output<typeof noBody>;

/** Each may make the provider open a session; a customer needs one or two. */
const MAX_PAYMENTS_A_MINUTE = 30;

@Topic('storefront')
@Controller({ path: 'v1/orders', version: VERSION_NEUTRAL })
export class OrdersController {
  constructor(
    private readonly placeOrder: PlaceOrder,
    private readonly readOrder: ReadOrder,
    private readonly listOrders: ListOrders,
    private readonly startPayment: StartPayment,
    private readonly cancelOrder: CancelOrder,
    private readonly confirmReceipt: ConfirmReceipt,
    private readonly shipOrder: ShipOrder,
    private readonly extendWindow: ExtendWindow,
  ) {}

  @Post()
  @Scope('orders')
  @Takes(placeOrderBody)
  @TakesIdempotencyKey()
  @Answers(201, 'Order', {
    summary: 'Place an order; repeated with the same Idempotency-Key, answers with the same order',
    headers: {
      Location: 'Where the order is read',
      'Idempotent-Replayed': '"true" when this key had placed the order before',
    },
    refusals: [
      'idempotency_key_missing',
      'idempotency_key_reused',
      'unknown_sku',
      'mixed_currencies',
      'out_of_stock',
      'total_changed',
      'too_many_open_orders',
      'too_many_units',
      'ordering_paused',
      'busy',
    ],
  })
  async place(
    @Subject() customerId: string,
    @Address() address: string,
    @IdempotencyKey() key: string,
    @InputBody(placeOrderBody) { items, expectedTotal }: PlaceOrderBody,
    @Res({ passthrough: true }) reply: HttpReply,
  ): Promise<OrderView> {
    const { order, replayed } = await this.placeOrder.place({
      customerId,
      idempotencyKey: key,
      items,
      expectedTotal,
    });
    reply.header('location', `${address}/${order.id}`);
    if (replayed) reply.header('Idempotent-Replayed', 'true');
    return order;
  }

  @Get()
  @Scope('orders')
  @TakesQuery(listOrdersQuery)
  @Answers(200, 'OrderPage', { summary: "The caller's orders, newest first" })
  list(
    @Subject() customerId: string,
    @InputQuery(listOrdersQuery) query: ListOrdersQuery,
  ): Promise<Page<OrderView>> {
    return this.listOrders.list({ customerId, ...query });
  }

  @Get(':id')
  @Scope('orders')
  @Answers(200, 'Order', {
    summary: 'One order; an overdue one is closed first',
    headers: { ETag: 'For If-None-Match; the same until something about the order changes' },
    also: { 304: 'Nothing has changed since the answer with this ETag; `Date` says the time' },
    refusals: ['order_not_found'],
  })
  @TakesIfNoneMatch()
  async read(
    @Subject() customerId: string,
    @OrderId() id: string,
    @Headers('if-none-match') known: string | undefined,
    @Res({ passthrough: true }) reply: HttpReply,
  ): Promise<OrderView | undefined> {
    const order = await this.readOrder.read(id, customerId);
    const tag = entityTagOf(order);
    // Still "no-store": a browser's cache would answer with the serverNow of then, and a countdown
    // would run by it. Whoever keeps the order itself asks by the header.
    reply.header('cache-control', 'no-store');
    reply.header('etag', tag);
    if (!isKnown(tag, known)) return order;
    reply.status(304);
    return undefined;
  }

  @Post(':id/payments')
  @Costly(MAX_PAYMENTS_A_MINUTE)
  @Scope('orders')
  @Takes(startPaymentBody)
  @TakesIdempotencyKey({ required: false, of: 'payment' })
  @Answers(201, 'Payment', {
    summary: 'Start a payment, or get the one that is open; the buyer pays at its checkoutUrl',
    headers: {
      Location: 'The order, in which the payment is read',
      'Idempotent-Replayed': '"true" when this key had started the payment before',
    },
    refusals: [
      'order_not_found',
      'payment_window_over',
      'order_not_payable',
      'too_many_payments',
      'idempotency_key_reused',
      'return_url_not_allowed',
      'provider_not_available',
      'currency_not_supported',
      'amount_too_small',
      'amount_not_chargeable',
      'payment_refused',
      'provider_error',
      'busy',
    ],
  })
  async pay(
    @Subject() customerId: string,
    @OrderId() orderId: string,
    @Address() address: string,
    @OptionalIdempotencyKey() idempotencyKey: string | undefined,
    @InputBody(startPaymentBody) body: StartPaymentBody,
    @Res({ passthrough: true }) reply: HttpReply,
  ): Promise<PaymentView> {
    const { payment, replayed } = await this.startPayment.start({
      orderId,
      customerId,
      provider: body?.provider,
      returnUrl: body?.returnUrl,
      idempotencyKey,
    });
    reply.header('location', posix.dirname(address));
    if (replayed) reply.header('Idempotent-Replayed', 'true');
    return payment;
  }

  @Post(':id/cancel')
  @Scope('orders')
  @Answers(200, 'Order', {
    summary: 'Cancel an order that is not paid, or not shipped where the shop allows that',
    refusals: ['order_not_found', 'order_not_cancelable', 'busy'],
  })
  cancel(
    @Subject() customerId: string,
    @OrderId() id: string,
    @InputBody(noBody) _body: NoBody,
  ): Promise<OrderView> {
    return this.cancelOrder.cancel(id, customerId);
  }

  @Post(':id/receipt')
  @Scope('orders')
  @Answers(200, 'Order', {
    summary: 'Confirm that the goods have arrived; completes the order',
    refusals: ['order_not_found', 'order_not_receivable', 'busy'],
  })
  receive(
    @Subject() customerId: string,
    @OrderId() id: string,
    @InputBody(noBody) _body: NoBody,
  ): Promise<OrderView> {
    return this.confirmReceipt.confirm(id, customerId);
  }

  @Post(':id/extension')
  @Scope('orders')
  @Takes(customerExtensionBody)
  @TakesIdempotencyKey({ required: false, of: 'extension' })
  @Answers(200, 'Order', {
    summary: 'Ask for more time to pay, as often as the shop allows it',
    headers: { 'Idempotent-Replayed': '"true" when this key had extended the order before' },
    refusals: ['order_not_found', 'order_not_extendable', 'idempotency_key_reused', 'busy'],
  })
  async extend(
    @Subject() actor: string,
    @OrderId() id: string,
    @OptionalIdempotencyKey() idempotencyKey: string | undefined,
    @InputBody(customerExtensionBody) { seconds }: z.output<typeof customerExtensionBody>,
    @Res({ passthrough: true }) reply: HttpReply,
  ): Promise<OrderView> {
    const command = { by: 'customer', actor, byMs: seconds * 1_000, idempotencyKey } as const;
    const { order, replayed } = await this.extendWindow.extendOnce(id, command);
    if (replayed) reply.header('Idempotent-Replayed', 'true');
    return order;
  }

  @Post(':id/shipment')
  @Scope('merchant')
  @Takes(shipmentBody)
  @Answers(200, 'Order', {
    summary: 'The goods are on their way; the customer is shown carrier and tracking number',
    refusals: ['order_not_found', 'order_not_shippable', 'busy'],
  })
  ship(
    @Subject() actor: string,
    @OrderId() id: string,
    @InputBody(shipmentBody) shipment: z.output<typeof shipmentBody>,
  ): Promise<OrderView> {
    return this.shipOrder.ship(id, actor, shipment ?? {});
  }
}
