import { LedgerProvider } from '../../../test/support/ledger-provider';
import { silentOrdersTelemetry } from '../../../test/support/silent-telemetry';
import { OrdersModule } from './orders.module';

const postgres = { url: 'postgres://shop@127.0.0.1/shop' };
const payments = [new LedgerProvider('acme')] as const;

describe('what OrdersModule itself is told', () => {
  const useFactory = () => ({ postgres, payments });

  it.each([
    [{ useFactory, role: 'Arm' }, '`role` must be "ring" or "arm"'],
    [{ useFactory, role: null }, '`role` must be "ring" or "arm"'],
    [{ useFactory, rol: 'arm' }, 'there is no option "rol"; there are: role, imports, inject, use'],
    [{ useFactory, imports: {} }, '`imports` must be a list of modules'],
    [{ useFactory, inject: 'A' }, '`inject` must be a list of tokens'],
    [undefined, '`useFactory` must be a function'],
  ])('%j is refused with what is wrong', (given, words) => {
    const make = () => OrdersModule.forRootAsync(given as never);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(words);
  });

  it('is a role, or nothing', () => {
    for (const role of ['ring', 'arm', undefined]) {
      const given = { useFactory, role } as never;
      expect(OrdersModule.forRootAsync(given).module).toBe(OrdersModule);
    }
  });

  it.each([
    [{ role: 'ring' }, '`ring` must be true or false; there is no option "role"'],
    [{ ring: 'arm' }, '`ring` must be true or false'],
    [undefined, '`ring` must be true or false'],
  ])('beside settings from the environment, %j is refused as well', (given, words) => {
    const make = () => OrdersModule.forRoot({} as never, silentOrdersTelemetry, given as never);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(words);
  });
});
