import { randomUUID } from 'node:crypto';
import { ListProducts, PlaceOrder } from '@app/orders';
import { Costly, InputBody, placeOrderBody, Public } from '@app/orders/http';
import { Controller, Get, Inject, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { parseCookie, stringifySetCookie } from 'cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { assertSameOrigin } from '../auth/page-access';
import { type CheckoutLink, CheckoutLinks } from './checkout-links';
import { escapeHtml, sendPage } from './document';
import { languageOf } from './languages';
import { QUICK_PLACING } from './quick-placing';
import { WebAssets } from './web-assets';

const ORDERS_A_MINUTE = 30;
const SHOPPER_COOKIE = '__Host-lc-shopper';
const SHOPPER = /^[0-9a-f-]{36}$/;
const A_YEAR_S = 365 * 86_400;

const shopOrderBody = z.strictObject({
  items: placeOrderBody.shape.items,
  /** True: its time is over in seconds, for who wants to see it close. */
  isQuick: z.boolean().default(false),
});

/** SAMPLE_SHOP: a shop to order and pay in within a minute. Whoever opens it is a customer of it. */
@ApiExcludeController()
@Controller('shop')
export class SampleShopController {
  constructor(
    private readonly assets: WebAssets,
    private readonly products: ListProducts,
    private readonly placing: PlaceOrder,
    @Inject(QUICK_PLACING) private readonly quickPlacing: PlaceOrder,
    private readonly links: CheckoutLinks,
  ) {}

  @Get()
  @Public()
  async page(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    if (shopperOf(request) === undefined) {
      const attributes = { path: '/', secure: true, httpOnly: true, sameSite: 'lax' } as const;
      const cookie = { name: SHOPPER_COOKIE, value: randomUUID(), ...attributes };
      reply.header('set-cookie', stringifySetCookie({ ...cookie, maxAge: A_YEAR_S }));
    }
    const language = languageOf(request, this.assets.languages);
    const messages = this.assets.messages(language);
    const say = (key: string): string => escapeHtml(messages[key] ?? key);
    sendPage(reply, {
      ...{ title: messages['shop.title'] ?? '', language },
      script: this.assets.urlOf('shop.js'),
      style: this.assets.urlOf('checkout.css'),
      content: `<main><h1>${say('shop.title')}</h1><p>${say('shop.script')}</p></main>`,
      state: { products: (await this.products.list()).items, messages, language },
    });
  }

  @Post('orders')
  @Public()
  @Costly(ORDERS_A_MINUTE)
  async order(
    @Req() request: FastifyRequest,
    @InputBody(shopOrderBody) { items, isQuick }: z.output<typeof shopOrderBody>,
  ): Promise<CheckoutLink> {
    assertSameOrigin(request);
    const customerId = `shopper-${shopperOf(request) ?? randomUUID()}`;
    const { order } = await (isQuick ? this.quickPlacing : this.placing).place({
      ...{ customerId, idempotencyKey: randomUUID(), items, expectedTotal: undefined },
    });
    return this.links.create(request, order.id, customerId);
  }
}

function shopperOf(request: FastifyRequest): string | undefined {
  const shopper = parseCookie(request.headers.cookie ?? '')[SHOPPER_COOKIE];
  return shopper !== undefined && SHOPPER.test(shopper) ? shopper : undefined;
}
