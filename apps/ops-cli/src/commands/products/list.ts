import { Flags } from '@oclif/core';
import type { Page, ProductEntry } from '@app/orders';
import { OpsCommand } from '../../ops-command';
import { productsTable } from '../../text/products-text';

export default class ProductsList extends OpsCommand {
  static override purpose = 'look' as const;
  static override summary = 'List products with their stock, by SKU';
  static override examples = ['<%= config.bin %> products list --limit 100 --json'];
  static override flags = {
    limit: Flags.integer({ description: 'at most so many', default: 20, min: 1, max: 1_000 }),
    cursor: Flags.string({
      description: 'go on behind this SKU; nextCursor of the page before',
      helpValue: 'SKU',
    }),
  };

  async run(): Promise<Page<ProductEntry>> {
    const { flags } = await this.parse(ProductsList);
    const { products } = await this.installation();
    const page = await products.list({ limit: flags.limit, cursor: flags.cursor });
    return this.showPage(page, productsTable, 'There is no product');
  }
}
