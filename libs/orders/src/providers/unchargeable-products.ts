import { onceFree } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { ConfigError } from '../config';
import { onDataSource } from '../order/order-rows';
import { PaymentProviders } from './payment-providers';

export interface UnchargeableCurrency {
  readonly currency: string;
  /** How many products are sold in it. */
  readonly products: number;
}

/**
 * Finds products that nobody could pay for: their currency has no number of decimals that we and
 * the provider agree on, and an amount would be charged at a wrong scale. What is free needs none.
 */
@Injectable()
export class UnchargeableProducts {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly providers: PaymentProviders,
  ) {}

  async find(): Promise<UnchargeableCurrency[]> {
    const [provider] = this.providers.all;
    const rows = await onDataSource(this.dataSource).rows<UnchargeableCurrency>(
      `SELECT currency, count(*)::int AS products FROM products WHERE unit_price > 0
        GROUP BY currency ORDER BY currency`,
    );
    return rows.filter(({ currency }) => !provider.takes(currency));
  }

  /** @throws {ConfigError} naming each currency, how much is sold in it, and what to do */
  async refuse(): Promise<void> {
    const found = await onceFree(this.dataSource, () => this.find());
    if (found.length === 0) return;
    throw new ConfigError(`${describeCurrencies(found, this.providers.all[0].name)}; ${MEND}`);
  }
}

export const MEND = 'give these products a price in another currency, or choose another provider';

export function describeCurrencies(
  found: readonly UnchargeableCurrency[],
  provider: string,
): string {
  const list = found.map(({ currency, products }) => `${currency} (${products} products)`);
  return `${provider} takes no payments in ${list.join(', ')}`;
}
