import { Controller, Get } from '@nestjs/common';
import { ListProducts, type ProductView } from '../stock/products';
import { Public } from './access';
import { Answers, Topic } from './route-facts';

@Topic('storefront')
@Controller('v1/products')
export class ProductsController {
  constructor(private readonly products: ListProducts) {}

  @Get()
  @Public()
  @Answers(200, 'ProductList', { summary: 'What can be ordered, with prices and stock' })
  async list(): Promise<{ items: ProductView[] }> {
    return { items: await this.products.list() };
  }
}
