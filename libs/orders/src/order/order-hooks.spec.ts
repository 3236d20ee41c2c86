import 'reflect-metadata';
import {
  Controller,
  Injectable,
  Module,
  type ModuleMetadata,
  type Provider,
  Scope,
} from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { randomUUID } from 'node:crypto';
import { inTransaction, Uuids } from '@app/timeout';
import { asOwner, createTestDatabase } from '../../../../test/support/database';
import { type HooksOrders, OrderHook } from './order-hook';
import { HOOKS_ELSEWHERE, HOST_SEARCH_PATH, OrderHooks } from './order-hooks';
import { NO_STOCK_PORT, STOCK_PORT } from './stock-port';
import { ORDERS_TELEMETRY, silentOrdersTelemetry } from './telemetry';

@OrderHook()
class Coupons implements HooksOrders {
  onTransition = () => Promise.resolve();
}

async function hooksIn(metadata: ModuleMetadata): Promise<OrderHooks> {
  const { providers = [], ...others } = metadata;
  const given: Provider[] = [
    { provide: HOST_SEARCH_PATH, useValue: () => Promise.resolve('public') },
    { provide: STOCK_PORT, useValue: NO_STOCK_PORT },
    { provide: ORDERS_TELEMETRY, useValue: silentOrdersTelemetry },
    { provide: HOOKS_ELSEWHERE, useValue: false },
  ];
  const app = await Test.createTestingModule({
    imports: [DiscoveryModule],
    providers: [OrderHooks, ...given, ...providers],
    ...others,
  }).compile();
  await app.init();
  return app.get(OrderHooks);
}

const hearIn = async (metadata: ModuleMetadata): Promise<boolean> =>
  (await hooksIn(metadata)).hasAny;

it('waits as it starts for a Postgres that ends sessions, as by a restart', async () => {
  const ended = Object.assign(new Error('terminating connection'), { code: '57P01' });
  const path = jest.fn().mockRejectedValueOnce(ended).mockResolvedValue('public');
  const warned = jest.spyOn(process, 'emitWarning').mockReturnValue();
  const given = { provide: HOST_SEARCH_PATH, useValue: path };
  expect(await hearIn({ providers: [Coupons, given] })).toBe(true);
  expect(path).toHaveBeenCalledTimes(2);
  expect(warned).toHaveBeenCalledWith(expect.stringContaining('Waiting for Postgres'));
  warned.mockRestore();
});

/** Tells them of an order that was placed. */
async function placedBeside(hooks: OrderHooks): Promise<void> {
  const database = await createTestDatabase();
  const owner = asOwner(database.url);
  const told = { from: 'none', to: 'pending_payment', by: 'customer', reason: null } as const;
  try {
    await inTransaction(await owner.dataSource(), (tx) =>
      hooks.run(tx, told, { count: 1, orderIds: Uuids.of([randomUUID()]) }),
    );
  } finally {
    await owner.close();
    await database.drop();
  }
}

it.each<[string, Provider]>([
  ['by its class', Coupons],
  ['by a factory', { provide: Coupons, useFactory: () => new Coupons() }],
  ['by a factory under another name', { provide: 'COUPONS', useFactory: () => new Coupons() }],
  ['as a value', { provide: 'COUPONS', useValue: new Coupons() }],
  ['as a value in its place', { provide: Coupons, useValue: { onTransition: jest.fn() } }],
])('hears of orders where it is provided %s', async (_how, provider) => {
  expect(await hearIn({ providers: [provider] })).toBe(true);
});

it('hears of orders as a controller', async () => {
  @Controller('coupons')
  @OrderHook()
  class CouponsController extends Coupons {}
  expect(await hearIn({ controllers: [CouponsController] })).toBe(true);
});

it('hears once of a change by a hook that has other names', async () => {
  const heard = jest.fn(() => Promise.resolve());
  class Counting extends Coupons {
    override onTransition = heard;
  }
  const hooks = await hooksIn({
    providers: [
      Counting,
      { provide: 'ALIAS', useExisting: Counting },
      { provide: 'COUPONS', inject: [Counting], useFactory: (one: Counting) => one },
    ],
  });
  await placedBeside(hooks);
  expect(heard).toHaveBeenCalledTimes(1);
});

it.each([
  ['request', Scope.REQUEST],
  ['who has it', Scope.TRANSIENT],
])('is refused where it is made anew for each %s', async (_, scope) => {
  @Injectable({ scope })
  @OrderHook()
  class Scoped extends Coupons {}
  await expect(hooksIn({ providers: [Scoped] })).rejects.toThrow(
    'The order hook Scoped is transient or request-scoped',
  );
});

it('is refused where two modules each provide the same hook, which would hear of each change twice', async () => {
  @Module({ providers: [Coupons] })
  class CheckoutModule {}
  @Module({ providers: [Coupons] })
  class CouponsModule {}
  await expect(
    hearIn({ imports: [DiscoveryModule, CheckoutModule, CouponsModule] }),
  ).rejects.toThrow(
    'The order hook Coupons is provided twice, in CheckoutModule and CouponsModule',
  );
});

class Deaf {}
class Misspelt {
  onTransitions = () => Promise.resolve();
}
it.each([Deaf, Misspelt])('is refused where it would hear of nothing (%p)', async (hook) => {
  OrderHook()(hook as never);
  await expect(hearIn({ providers: [hook] })).rejects.toThrow(
    `The order hook ${hook.name} would hear of nothing: it must have a method \`onTransition(change, tx)\` or \`beforePlace(drafts, tx)\``,
  );
});

it('hears of nothing where a test has nothing in its place', async () => {
  expect(await hearIn({ providers: [{ provide: Coupons, useValue: {} }] })).toBe(true);
});

it('calls those of several modules that have one name for different hooks', async () => {
  const heard = jest.fn();
  @OrderHook()
  class Points implements HooksOrders {
    onTransition = async () => void heard('points');
  }
  @OrderHook()
  class Mails implements HooksOrders {
    onTransition = async () => void heard('mails');
  }
  abstract class Hook {}
  @Module({
    providers: [
      { provide: Hook, useClass: Points },
      { provide: 'HOOK', useFactory: () => new Points() },
    ],
  })
  class PointsModule {}
  @Module({
    providers: [
      { provide: Hook, useClass: Mails },
      { provide: 'HOOK', useFactory: () => new Mails() },
    ],
  })
  class MailsModule {}
  const hooks = await hooksIn({ imports: [DiscoveryModule, PointsModule, MailsModule] });
  await placedBeside(hooks);
  expect(heard.mock.calls.flat().sort()).toEqual(['mails', 'mails', 'points', 'points']);
});

it.each<[string, Provider, Provider]>([
  [
    'by factories of one name',
    { provide: 'HOOK', useFactory: () => new Coupons() },
    { provide: 'HOOK', useFactory: () => new Coupons() },
  ],
  ['once as another in its place', Coupons, { provide: Coupons, useValue: {} }],
])('is refused where two modules provide it %s', async (_how, one, other) => {
  @Module({ providers: [one] })
  class OneModule {}
  @Module({ providers: [other] })
  class OtherModule {}
  await expect(hearIn({ imports: [DiscoveryModule, OneModule, OtherModule] })).rejects.toThrow(
    'is provided twice, in OneModule and OtherModule',
  );
});

it('calls several of one class that have names of their own', async () => {
  const heard = jest.fn(() => Promise.resolve());
  class Counting extends Coupons {
    override onTransition = heard;
  }
  const hooks = await hooksIn({
    providers: ['TEN', 'FREE'].map((provide) => ({ provide, useFactory: () => new Counting() })),
  });
  await placedBeside(hooks);
  expect(heard).toHaveBeenCalledTimes(2);
});

it('goes without a hook that its factory has left out', async () => {
  const hooks = await hooksIn({ providers: [{ provide: Coupons, useFactory: () => undefined }] });
  expect(hooks.hasAny).toBe(false);
});

it('is nobody where none is provided', async () => {
  expect(await hearIn({})).toBe(false);
});
