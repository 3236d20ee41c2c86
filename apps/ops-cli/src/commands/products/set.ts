import { Args, Flags } from '@oclif/core';
import type { ProductDetails, ProductLine } from '@app/orders';
import { usageFailure } from '../../command-failure';
import { accountableAs, OpsCommand } from '../../ops-command';
import { productText } from '../../text/products-text';

const FACTS = ['name', 'unitPrice', 'currency'] as const;

export interface SetOutcome {
  readonly created: boolean;
  readonly product: ProductDetails;
}

export default class ProductsSet extends OpsCommand {
  static override summary = 'Create a product, or give it another name or price';
  static override description =
    'A new one needs name, price and currency, and has no stock yet. Orders that are placed keep the ' +
    'price they have.';
  static override examples = [
    '<%= config.bin %> products set TEA-SENCHA --price 1350 --reason "new harvest"',
    '<%= config.bin %> products set TEA-MATCHA --name "Matcha, 30 g" --price 2400 --currency EUR --reason "new"',
  ];
  static override args = { sku: Args.string({ name: 'SKU', required: true, ignoreStdin: true }) };
  static override flags = {
    ...accountableAs('products set'),
    name: Flags.string({ description: 'what customers read', helpValue: 'TEXT' }),
    price: Flags.integer({ description: 'of one piece, in minor units', min: 0 }),
    currency: Flags.string({ description: 'ISO 4217', helpValue: 'EUR' }),
  };

  async run(): Promise<SetOutcome> {
    const { args, flags } = await this.parse(ProductsSet);
    const { products, putProduct, importProducts } = await this.installation();
    const now = await products.read(args.sku).catch((error: { code?: string }) => {
      if (error.code === 'product_not_found') return undefined;
      throw error;
    });
    const given = { name: flags.name, unitPrice: flags.price, currency: flags.currency };
    const { name = now?.name, unitPrice = now?.unitPrice, currency = now?.currency } = given;
    if (name === undefined || unitPrice === undefined || currency === undefined) {
      throw usageFailure(`${args.sku} is new: it needs --name, --price and --currency`);
    }
    const wanted: ProductLine = { line: 0, sku: args.sku, name, unitPrice, currency };
    const [complaint] = importProducts.check([wanted]);
    if (complaint) throw usageFailure(complaint.message);
    const { actor, reason } = flags;
    // As they are then, and not as they were read: somebody may give it another price meanwhile.
    const kept = FACTS.filter((fact) => given[fact] === undefined);
    const outcome = await putProduct.put(wanted, { actor, reason }, kept);
    this.log(productText(outcome.product));
    if (outcome.created) {
      this.note(`Next: lastcall products stock ${args.sku} --delta 100 --reason delivery`);
    }
    return outcome;
  }
}
