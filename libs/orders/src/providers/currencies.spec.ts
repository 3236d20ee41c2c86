import { decimalsOf } from './currencies';

it.each([
  ['JPY', 0],
  ['EUR', 2],
  ['USD', 2],
  ['BHD', 3],
  ['KWD', 3],
  ['CLF', 4],
  ['XTS', undefined],
])('counts %s with the decimals of ISO 4217: %s', (currency, decimals) => {
  expect(decimalsOf(currency)).toBe(decimals);
});
