import type { DataSource } from 'typeorm';
import { onDataSource } from '../order/order-rows';

/** A few things to sell, so that a first order can be placed at once. Prices in minor units. */
const PRODUCTS = [
  { sku: 'TEA-EARL-GREY', name: 'Earl Grey, 100 g', unitPrice: 890, onHand: 1_000 },
  { sku: 'TEA-SENCHA', name: 'Sencha, 100 g', unitPrice: 1_250, onHand: 1_000 },
  { sku: 'POT-CAST-IRON', name: 'Cast-iron teapot', unitPrice: 6_400, onHand: 50 },
  { sku: 'CUP-PORCELAIN', name: 'Porcelain cup', unitPrice: 1_800, onHand: 200 },
  { sku: 'SAMPLE-FREE', name: 'Free tea sample', unitPrice: 0, onHand: 500 },
];

/** Adds the products when there are none; returns how many it added. */
export async function seedProducts(dataSource: DataSource): Promise<number> {
  const added = await onDataSource(dataSource).rows(
    `INSERT INTO products (sku, name, unit_price, currency, on_hand, available)
     SELECT sku, name, unit_price, 'EUR', on_hand, on_hand
       FROM unnest($1::text[], $2::text[], $3::bigint[], $4::int[])
         AS p (sku, name, unit_price, on_hand)
      WHERE NOT EXISTS (SELECT 1 FROM products)
     ON CONFLICT DO NOTHING RETURNING 1`,
    [
      PRODUCTS.map(({ sku }) => sku),
      PRODUCTS.map(({ name }) => name),
      PRODUCTS.map(({ unitPrice }) => unitPrice),
      PRODUCTS.map(({ onHand }) => onHand),
    ],
  );
  return added.length;
}
