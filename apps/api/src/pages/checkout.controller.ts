import {
  isUuid,
  LastcallError,
  PageSessions,
  ReadOrder,
  SETTINGS,
  type Settings,
  StartPayment,
} from '@app/orders';
import { Costly, Public } from '@app/orders/http';
import { Controller, Get, Inject, Param, Query, Req, Res, UseFilters } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { forgetOldCheckouts, isSameOrigin, PageAccess, sessionCookie } from '../auth/page-access';
import { CheckoutLinks } from './checkout-links';
import { canPay, checkoutContent } from './checkout-content';
import { sendPage } from './document';
import { languageOf } from './languages';
import { PageFilter } from './page.filter';
import { checkoutAssets, sayPage } from './say-page';
import { WebAssets } from './web-assets';

const PAYMENTS_A_MINUTE = 30;
const GONE = 410;
/** In the address of who wanted to pay and could not. */
const REFUSED = 'refused';

/**
 * The checkout of one order, rendered here, so that a browser without JavaScript shows what is to be
 * paid until when, and a way to pay. With JavaScript it goes on by itself (apps/web/checkout).
 */
@ApiExcludeController()
@Controller('checkout')
@UseFilters(PageFilter)
export class CheckoutController {
  constructor(
    private readonly assets: WebAssets,
    private readonly sessions: PageSessions,
    private readonly access: PageAccess,
    private readonly readOrder: ReadOrder,
    private readonly startPayment: StartPayment,
    private readonly links: CheckoutLinks,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'CUSTOMER_EXTENSION'>,
  ) {}

  @Get(':id')
  @Public()
  async page(
    @Param('id') id: string,
    @Query() query: Record<string, unknown>,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const language = languageOf(request, this.assets.languages);
    const customerId = await this.#enter(id.toLowerCase(), query.code, request, reply);
    if (customerId === undefined) return this.#turnAway(reply, language);
    const order = await this.readOrder.read(id.toLowerCase(), customerId);
    const messages = this.assets.messages(language);
    const hasFailed = REFUSED in query && canPay(order);
    sendPage(reply, {
      title: messages.title ?? '',
      language,
      ...checkoutAssets(this.assets),
      content: checkoutContent(order, messages, language, hasFailed),
      state: {
        order,
        messages,
        language,
        hasFailed,
        extensionMs: this.settings.CUSTOMER_EXTENSION,
      },
    });
  }

  /** Where the page's link leads: on to the provider, by a payment that is open or a new one. */
  @Get(':id/pay')
  @Public()
  @Costly(PAYMENTS_A_MINUTE)
  async pay(
    @Param('id') id: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const orderId = id.toLowerCase();
    const session = isUuid(id) ? await this.access.checkoutOf(request, orderId) : undefined;
    if (!session) return this.#turnAway(reply, languageOf(request, this.assets.languages));
    // Another site's link gets its buyer no further than to the page.
    if (!isSameOrigin(request)) return void (await reply.redirect(`/checkout/${orderId}`, 303));
    const { subject: customerId } = session;
    const ownPageUrl = this.links.pageOf(request, orderId);
    try {
      const { payment } = await this.startPayment.start({ orderId, customerId, ownPageUrl });
      await reply.redirect(payment.checkoutUrl ?? `/checkout/${orderId}`, 303);
    } catch (error) {
      // People come here by a click: the page tells them how the order stands by now.
      if (!(error instanceof LastcallError)) throw error;
      await reply.redirect(`/checkout/${orderId}?${REFUSED}`, 303);
    }
  }

  /** Whose checkout it is: by the cookie of before, or by the code, which is then traded for one. */
  async #enter(
    id: string,
    code: unknown,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<string | undefined> {
    if (!isUuid(id)) return undefined;
    const known = await this.access.checkoutOf(request, id);
    if (known) return known.subject;
    // Whoever only looks whether the link is there does not use it up.
    if (typeof code !== 'string' || request.method === 'HEAD') return undefined;
    const opened = await this.sessions.open('checkout', code);
    if (opened?.session.orderId !== id) return undefined;
    const cookie = sessionCookie(opened.token, opened.session);
    reply.header('set-cookie', [cookie, ...forgetOldCheckouts(request, id)]);
    return opened.session.subject;
  }

  #turnAway(reply: FastifyReply, language: string): void {
    sendPage(reply, sayPage(this.assets, language, 'link'), GONE);
  }
}
