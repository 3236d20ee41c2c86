import { decimalsOf } from '@app/orders/currencies';

/**
 * Amounts are in minor units, with the decimals that amounts are counted with and not those that a
 * language writes: it has none for HUF or IDR, and a browser may know others than we do.
 */
export function moneyText(amount: number, currency: string, language: string): string {
  const digits = decimalsOf(currency.toUpperCase());
  // What providers name may be anything.
  if (digits === undefined) return `${amount} minor units of "${currency}"`;
  const format = new Intl.NumberFormat(language, {
    ...{ style: 'currency', currency },
    ...{ minimumFractionDigits: digits, maximumFractionDigits: digits },
  });
  return format.format(amount / 10 ** digits);
}
