import { Controller, Get, Post, Put, VERSION_NEUTRAL } from '@nestjs/common';
import type { z } from 'zod';
import {
  AdjustStock,
  type ProductDetails,
  type ProductEntry,
  PutProduct,
  ReadProducts,
} from '../ops/products';
import type { Page } from '../order/page';
import { Scope } from './access';
import { InputBody, InputQuery, ProductSku, Subject } from './params';
import { listProductsQuery, putProductBody, stockBody } from './product-requests';
import { Answers, Takes, TakesQuery, Topic } from './route-facts';

/** What is sold, for merchants to keep; every change is written down with who made it. */
@Topic('ops')
@Controller({ path: 'v1/ops/products', version: VERSION_NEUTRAL })
export class OpsProductsController {
  constructor(
    private readonly products: ReadProducts,
    private readonly putting: PutProduct,
    private readonly stock: AdjustStock,
  ) {}

  @Get()
  @Scope('merchant', 'ops:read')
  @TakesQuery(listProductsQuery)
  @Answers(200, 'ProductPage', { summary: 'All products with their stock, by SKU' })
  list(
    @InputQuery(listProductsQuery) query: z.output<typeof listProductsQuery>,
  ): Promise<Page<ProductEntry>> {
    return this.products.list(query);
  }

  @Get(':sku')
  @Scope('merchant', 'ops:read')
  @Answers(200, 'ProductDetails', {
    summary: 'One product, its stock, and who changed it',
    refusals: ['product_not_found'],
  })
  read(@ProductSku() sku: string): Promise<ProductDetails> {
    return this.products.read(sku);
  }

  @Put(':sku')
  @Scope('merchant', 'ops:write')
  @Takes(putProductBody)
  @Answers(200, 'ProductDetails', {
    summary:
      'Create a product, without stock, or give it another name or price; orders keep the price they have',
    refusals: ['currency_not_supported', 'busy'],
  })
  async put(
    @Subject() actor: string,
    @ProductSku() sku: string,
    @InputBody(putProductBody) { reason, ...product }: z.output<typeof putProductBody>,
  ): Promise<ProductDetails> {
    return (await this.putting.put({ sku, ...product }, { actor, reason })).product;
  }

  @Post(':sku/stock')
  @Scope('merchant', 'ops:write')
  @Takes(stockBody)
  @Answers(200, 'ProductDetails', {
    summary: 'Pieces came in or are gone; what orders hold cannot be taken away',
    refusals: ['product_not_found', 'stock_out_of_range', 'busy'],
  })
  adjust(
    @Subject() actor: string,
    @ProductSku() sku: string,
    @InputBody(stockBody) { delta, reason }: z.output<typeof stockBody>,
  ): Promise<ProductDetails> {
    return this.stock.adjust(sku, delta, { actor, reason });
  }
}
