import { moneyText } from './wording';

describe('moneyText', () => {
  it('writes as many decimals as the currency has', () => {
    expect(moneyText(2_598, 'EUR')).toBe('25.98 EUR');
    expect(moneyText(2_598, 'JPY')).toBe('2598 JPY');
    expect(moneyText(2_598, 'HUF')).toBe('25.98 HUF');
  });

  it.each(['EURO', '', '€€€', 'E\ufffdR'])(
    'writes money that a provider calls "%s" as it was told',
    (name) => {
      expect(moneyText(1_250, name)).toBe(`1250 minor units of "${name}"`);
    },
  );
});
