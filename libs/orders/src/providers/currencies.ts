/**
 * Decimals of each currency's minor unit, as amounts are counted here.
 * Source: ISO 4217, list one (six-group.com/en/products-services/financial-information/data-standards).
 */
const DECIMALS: readonly (readonly [decimals: number, currencies: string])[] = [
  [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'],
  [
    2,
    `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF
     CHF CNY COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD
     HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK
     MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD
     RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS
     UAH USD UYU UZS VES WST XCD XCG YER ZAR ZMW ZWG`,
  ],
  [3, 'BHD IQD JOD KWD LYD OMR TND'],
  [4, 'CLF UYW'],
];

const BY_CURRENCY: ReadonlyMap<string, number> = new Map(
  DECIMALS.flatMap(([decimals, names]) =>
    names.split(/\s+/).map((name) => [name, decimals] as const),
  ),
);

/** How many decimals the currency has; undefined for one that no money can be charged in. */
export function decimalsOf(currency: string): number | undefined {
  return BY_CURRENCY.get(currency);
}
