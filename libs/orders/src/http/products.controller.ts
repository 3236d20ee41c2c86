import { Controller, Get, VERSION_NEUTRAL } from '@nestjs/common';
import type { z } from 'zod';
import type { Page } from '../order/page';
import { ListProducts, type ProductView } from '../stock/products';
import { Public } from './access';
import { InputQuery } from './params';
import { listPublicProductsQuery } from './product-requests';
import { Answers, TakesQuery, Topic } from './route-facts';

@Topic('storefront')
@Controller({ path: 'v1/products', version: VERSION_NEUTRAL })
export class ProductsController {
  constructor(private readonly products: ListProducts) {}

  @Get()
  @Public()
  @TakesQuery(listPublicProductsQuery)
  @Answers(200, 'ProductList', {
    summary:
      'What can be ordered, with prices and stock, by SKU; 1,000 at once unless asked for fewer',
  })
  list(
    @InputQuery(listPublicProductsQuery) query: z.output<typeof listPublicProductsQuery>,
  ): Promise<Page<ProductView>> {
    return this.products.list(query);
  }
}
