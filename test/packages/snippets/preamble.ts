// What the snippets of docs/adopting.md take for granted: it stands before each when it is compiled.
import 'reflect-metadata';
import {
  type HookTx,
  OrderHook,
  OrdersModule,
  type OrderTransition,
  type PaymentProvider,
  type RelayedEvent,
} from '@lastcall/orders';
import { OrdersHttpModule } from '@lastcall/orders/http';
import { type ClosesOrders, CloseTargetModule } from '@lastcall/orders/targets';
import { type CloseTargetUnderTest, describeProvider as contract } from '@lastcall/orders/testing';
import { DeadlineHandler, type Due, fromPg, TimeoutModule, type Timeouts } from '@lastcall/timeout';
import { type CanActivate, Module, type Type } from '@nestjs/common';
import type { Pool } from 'pg';

@DeadlineHandler('trial-end')
class EndTrials {
  handle = async (due: readonly Due[]): Promise<{ changed: number }> => ({ changed: due.length });
}
declare const url: string;
declare const dueAt: Date;
declare const pool: Pool;
declare const timeouts: Timeouts;
declare function pagesOfOpenTrials(): { id: string; endsAt: Date }[][];

@Module({})
class AcmeModule {}
abstract class AcmePay {}
interface AcmePay extends PaymentProvider {}
declare const myBus: { publish(events: readonly RelayedEvent[]): Promise<void> };

declare const ShopOrders: Type<ClosesOrders>;
declare const acme: PaymentProvider;
declare const placeOrder: CloseTargetUnderTest['placeOrder'];
declare const openPayment: CloseTargetUnderTest['openPayment'];
declare const statusOf: CloseTargetUnderTest['statusOf'];

@Module({})
class AuthModule {}
class SessionGuard implements CanActivate {
  canActivate = (): boolean => true;
}
interface SessionRequest {
  readonly user: { readonly id: string };
}

type Contract = Awaited<ReturnType<Parameters<typeof contract>[1]>>;
declare const provider: Contract['provider'];
declare const unreachable: Contract['unreachable'];
declare const buyerPays: Contract['buyerPays'];
declare const failRefunds: Contract['failRefunds'];
declare const webhook: Contract['webhook'];
declare const close: Contract['close'];
