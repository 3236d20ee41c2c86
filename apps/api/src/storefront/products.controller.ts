import { ListProducts, type ProductView } from '@app/orders';
import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Public } from '../auth/access';
import { Answers } from '../openapi/answers';

@ApiTags('storefront')
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
