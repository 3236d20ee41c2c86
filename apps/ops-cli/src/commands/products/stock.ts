import { Args, Flags } from '@oclif/core';
import type { ProductDetails } from '@app/orders';
import { usageFailure } from '../../command-failure';
import { ACCOUNTABILITY, OpsCommand } from '../../ops-command';
import { productText } from '../../text/products-text';

/** As the API has it. */
const MAX_DELTA = 1_000_000;

export default class ProductsStock extends OpsCommand {
  static override summary = 'Say that pieces of a product came in, or are gone';
  static override description =
    'What orders hold or have bought cannot be taken away: cancel or refund those first.';
  static override examples = [
    '<%= config.bin %> products stock TEA-SENCHA --delta 100 --reason "delivery 4711"',
    '<%= config.bin %> products stock TEA-SENCHA --delta=-3 --reason "damaged in the store"',
  ];
  static override args = { sku: Args.string({ name: 'SKU', required: true, ignoreStdin: true }) };
  static override flags = {
    ...ACCOUNTABILITY,
    delta: Flags.integer({
      description: 'pieces that came in; negative (--delta=-3): that are gone',
      min: -MAX_DELTA,
      max: MAX_DELTA,
      required: true,
    }),
  };

  async run(): Promise<ProductDetails> {
    const { args, flags } = await this.parse(ProductsStock);
    const { delta, actor, reason } = flags;
    if (delta === 0) throw usageFailure('--delta must not be 0');
    const { adjustStock } = await this.installation();
    const product = await adjustStock.adjust(args.sku, delta, { actor, reason });
    this.log(productText(product));
    return product;
  }
}
