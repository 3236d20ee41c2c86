import type { ProductDetails, ProductEntry } from '@app/orders';
import { paint } from './paint';
import { facts, table } from './table';
import { moneyText } from './wording';

export function productsTable(products: readonly ProductEntry[]): string {
  return table(products, [
    { title: 'SKU', value: ({ sku }) => sku },
    { title: 'NAME', value: ({ name }) => name },
    {
      title: 'PRICE',
      value: ({ unitPrice, currency }) => moneyText(unitPrice, currency),
      align: 'right',
    },
    { title: 'AVAILABLE', value: ({ available }) => available, align: 'right' },
    { title: 'RESERVED', value: ({ reserved }) => reserved, align: 'right' },
    { title: 'SOLD', value: ({ sold }) => sold, align: 'right' },
  ]);
}

/** A product, and who changed it last. */
export function productText(product: ProductDetails): string {
  const { sku, name, unitPrice, currency, available, reserved, sold, changes } = product;
  const about = facts([
    ['sku', sku],
    ['name', name],
    ['price', moneyText(unitPrice, currency)],
    ['available', available],
    ['reserved', reserved],
    ['sold', sold],
  ]);
  if (changes.length === 0) return about;
  const history = table(changes.slice(0, MOST_SHOWN), [
    { title: 'AT', value: ({ at }) => at },
    { title: 'WHAT', value: ({ action }) => action },
    {
      title: 'PRICE',
      value: (change) =>
        change.unitPrice === null ? null : moneyText(change.unitPrice, change.currency ?? currency),
      align: 'right',
    },
    { title: 'PIECES', value: ({ delta }) => delta, align: 'right' },
    { title: 'BY', value: ({ actor }) => actor },
    { title: 'WHY', value: ({ reason }) => reason },
  ]);
  return `${about}\n\n${paint.heading('Changes')}\n${history}`;
}

const MOST_SHOWN = 10;
