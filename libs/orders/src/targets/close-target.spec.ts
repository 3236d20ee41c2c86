import 'reflect-metadata';
import { CloseTarget, type ClosesOrders, closeTargetOptions } from './close-target';

describe('@CloseTarget', () => {
  class ShopOrders implements ClosesOrders {
    lockOpen = async () => [];
    openPayments = async () => [];
    findPayments = async () => [];
    close = async () => [];
    markPaid = async () => [];
  }

  it('is one for each class: of two, the orders of one would never close', () => {
    CloseTarget({ kind: 'order-close' })(ShopOrders);
    expect(() => CloseTarget({ kind: 'booking-close' })(ShopOrders)).toThrow(
      new TypeError(
        'ShopOrders has two marks @CloseTarget, of which one would never be heard of: write a class for each',
      ),
    );
    expect(closeTargetOptions(ShopOrders)).toEqual({ kind: 'order-close' });
  });
});
