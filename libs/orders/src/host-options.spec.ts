import { LedgerProvider } from '../../../test/support/ledger-provider';
import { silentOrdersTelemetry } from '../../../test/support/silent-telemetry';
import { Logger } from '@nestjs/common';
import { hostOptionsAsConfig, hostSetUp, type OrdersHostOptions } from './host-options';
import { CloseTargetModule } from './targets/close-target.module';
import { checkTargetOptions } from './targets/target-options';

const postgres = { url: 'postgres://shop@127.0.0.1/shop' };
const payments = [new LedgerProvider('acme')] as const;
const events = { append: () => Promise.resolve() };
const stock = { reserve: () => Promise.resolve([]), apply: () => Promise.resolve() };

describe('the options of OrdersModule.forRootAsync', () => {
  it('are taken as their types say', () => {
    const taken: OrdersHostOptions[] = [
      { postgres, payments },
      { postgres, payments, events, stock, telemetry: silentOrdersTelemetry },
      { postgres, payments, redis: 'redis://127.0.0.1', schema: 'mine', windows: { pay: '10m' } },
      { postgres, payments, settings: { MAX_OPEN_ORDERS: '5', LOG_LEVEL: undefined }, windows: {} },
    ];
    for (const one of taken) expect(() => hostOptionsAsConfig(one)).not.toThrow();
  });

  it.each([
    [undefined, '`postgres` must be { url } of a Postgres; `payments` must be a list of Payment'],
    [{ postgres: 'postgres://', payments }, '`postgres` must be { url }'],
    [{ postgres, payments: [] }, '`payments` must be one PaymentProvider or more'],
    [{ postgres, payments: payments[0] }, '`payments` must be a list of PaymentProviders'],
    [{ postgres, payments: [{ name: 'acme' }] }, '`payments.0` must be a PaymentProvider: a name'],
    [{ postgres, payments: [payments[0], payments[0]] }, '`payments` must be of PaymentProviders'],
    [
      { postgres, payments: [new LedgerProvider('')] },
      '`payments` must be of PaymentProviders whose',
    ],
    [
      { postgres, payments: [new LedgerProvider('a, b')] },
      'names are 1 to 64 letters, digits, "."',
    ],
    [{ postgres, payments: [new LedgerProvider('a/b')] }, 'names are 1 to 64 letters, digits, "."'],
    [{ postgres, payments, provider: 1 }, 'there is no option "provider"; there are: postgres, '],
    [
      { postgres, payments, windows: { payment: '10m' } },
      'there is no option "windows.payment"; there are: pay, grace, ship, receive',
    ],
    [{ postgres, payments, role: 'arm' }, '`role` stands beside `useFactory`'],
    [{ postgres, payments, redis: {} }, '`redis` must be a URL'],
    [{ postgres, payments, schema: 7 }, '`schema` must be a text'],
    [{ postgres, payments, windows: '10m' }, '`windows` must be of durations as "10m"'],
    [{ postgres, payments, windows: { pay: 600 } }, '`windows.pay` must be a text'],
    [{ postgres, payments, events: () => undefined }, '`events` must be an EventSink'],
    [{ postgres, payments, stock: { reserve: 1 } }, '`stock` must be a StockPort'],
    [{ postgres, payments, telemetry: 'on' }, '`telemetry` must be an OrdersTelemetry'],
    [{ postgres, payments, settings: { MAX_OPEN_ORDERS: 5 } }, '`settings.MAX_OPEN_ORDERS` must'],
    [
      { postgres, payments, settings: { MAX_OPEN_ORDER: '5' } },
      '`settings.MAX_OPEN_ORDER` must be one that there is: AUTH_AUDIENCE, ',
    ],
    [{ postgres, payments, settings: { FOO: '1' } }, ', MAX_OPEN_ORDERS, MAX_UNPAID_IN_A_ROW, '],
    ...Object.entries({
      DATABASE_SCHEMA: 'schema',
      DATABASE_URL: 'postgres',
      PAYMENT_GRACE: 'windows.grace',
      PAYMENT_PROVIDER: 'payments',
      PAYMENT_PROVIDERS: 'payments',
      PAYMENT_WINDOW: 'windows.pay',
      RECEIVE_WITHIN: 'windows.receive',
      REDIS_URL: 'redis',
      ROLES: 'role',
      SHIP_WITHIN: 'windows.ship',
    }).map(([name, option]): [object, string] => [
      { postgres, payments, settings: { [name]: '5m' } },
      `\`settings.${name}\` must be left out: \`${option}\` says it`,
    ]),
    [
      { postgres, payments, settings: { LASTCALL_HOME: '/srv' } },
      '`settings.LASTCALL_HOME` must be left out: a host has none',
    ],
  ] as [unknown, string][])('%j are refused with what is wrong', (given, words) => {
    const check = () => hostOptionsAsConfig(given as OrdersHostOptions);
    expect(check).toThrow(TypeError);
    expect(check).toThrow(words);
  });
});

describe('telemetry of a host, as the order module calls it', () => {
  afterEach(() => jest.restoreAllMocks());

  it('may leave out what it does not want to hear, and may throw', () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    const told: string[] = [];
    const alert = (what: string): void => {
      told.push(what);
      throw new Error('statsd is away');
    };
    const { telemetry } = hostSetUp({ postgres, payments, telemetry: { failed: alert, alert } });
    for (const key of Object.keys(silentOrdersTelemetry)) {
      expect(telemetry).toHaveProperty(key, expect.any(Function));
    }
    telemetry.closed('timer', 1);
    // Or it would be told of none of them.
    expect(telemetry.closedMany).toBeUndefined();
    for (let turn = 0; turn < 2; turn++) telemetry.alert('money_on_hold', {});
    expect(told).toEqual(['money_on_hold', 'money_on_hold']);
    const said = 'telemetry.alert fails, which is said once: statsd is away';
    expect(warn.mock.calls).toEqual([[said]]);
  });

  it('hears of many orders at once where it has a way to', () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    const closedMany = jest.fn().mockImplementationOnce(() => {
      throw new Error('statsd is away');
    });
    const given = { failed: () => undefined, alert: () => undefined, closedMany };
    const { telemetry } = hostSetUp({ postgres, payments, telemetry: given });
    for (let turn = 0; turn < 2; turn++) telemetry.closedMany?.('timer', 12, 8_000);
    expect(closedMany.mock.calls).toEqual([
      ['timer', 12, 8_000],
      ['timer', 12, 8_000],
    ]);
    expect(warn).toHaveBeenCalledTimes(1);
  });
});

it('refuses options of CloseTargetModule in the same way', () => {
  expect(() => checkTargetOptions({ payments, latePayment: 'hold' })).not.toThrow();
  const wrong = { payments: undefined, latePayment: 'revive', grace: '1m' };
  expect(() => checkTargetOptions(wrong as never)).toThrow(
    'CloseTargetModule: `payments` must be a list of PaymentProviders; `latePayment` must be "refund" or ' +
      '"hold"; there is no option "grace"; there are: payments, latePayment, telemetry',
  );
});

it.each([
  [undefined, '`targets` must be classes marked with @CloseTarget, one or more'],
  [{ payments }, '`targets` must be classes marked with @CloseTarget, one or more'],
  [{ targets: [], payments }, '`targets` must be classes marked with @CloseTarget, one or more'],
  [{ targets: [{}], payments }, '`targets.0` must be a class'],
  [{ targets: [class {}], timeouts: 7, payments }, '`timeouts` must be a name'],
])('refuses to look for close targets in %j', (given, said) => {
  expect(() => CloseTargetModule.forRoot(given as never)).toThrow(`CloseTargetModule: ${said}`);
});
