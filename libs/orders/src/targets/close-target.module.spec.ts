import 'reflect-metadata';
import { Test } from '@nestjs/testing';
import { LedgerProvider } from '../../../../test/support/ledger-provider';
import { CloseTarget, type ClosesOrders } from './close-target';
import { CloseTargetModule } from './close-target.module';

class Orders implements ClosesOrders {
  lockOpen = async () => [];
  openPayments = async () => [];
  findPayments = async () => [];
  close = async () => [];
  markPaid = async () => [];
}
@CloseTarget({ kind: 'order-close' })
class ShopOrders extends Orders {}
@CloseTarget({ kind: 'order-close' })
class OldOrders extends Orders {}

type Targets = Parameters<typeof CloseTargetModule.forRoot>[0]['targets'];
const closing = (targets: Targets, timeouts?: string) =>
  CloseTargetModule.forRoot({ targets, timeouts, payments: [new LedgerProvider('acme')] });

it.each([
  [[ShopOrders, OldOrders], 'ShopOrders and OldOrders'],
  [[ShopOrders, ShopOrders], 'ShopOrders and ShopOrders'],
] as [Targets, string][])(
  'refuses two targets of one kind, by their own names',
  (targets, names) => {
    expect(() => closing(targets)).toThrow(
      new TypeError(
        `CloseTargetModule: ${names} are both of the kind "order-close": each target has one of its own`,
      ),
    );
  },
);

it.each([undefined, 'trials'])('says which TimeoutModule is missing (%s)', async (name) => {
  const booting = Test.createTestingModule({ imports: [closing([ShopOrders], name)] }).compile();
  const asks = name ? 'TimeoutModule.forRoot({ name: "trials", ... })' : 'TimeoutModule.forRoot';
  await expect(booting).rejects.toThrow(`CloseTargetModule needs ${asks}`);
});
