/** What providers name may be anything, and of anything else nobody knows the decimals. */
const CURRENCY = /^[A-Z]{3}$/i;

/** Amounts are in minor units; the currency says how many decimals those are. */
export function moneyText(amount: number, currency: string, language: string): string {
  if (!CURRENCY.test(currency)) return `${amount} minor units of "${currency}"`;
  const format = new Intl.NumberFormat(language, { style: 'currency', currency });
  const digits = format.resolvedOptions().maximumFractionDigits ?? 2;
  return format.format(amount / 10 ** digits);
}
