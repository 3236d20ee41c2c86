import { LastcallError } from '../order/errors';

export const tooManyOrders = (maxOpen: number): LastcallError =>
  new LastcallError(
    'too_many_open_orders',
    `You have ${maxOpen} unpaid orders, which is the most; pay or cancel one first`,
    { maxOpen },
  );

export const tooManyUnits = (maxUnits: number, held: number): LastcallError =>
  new LastcallError(
    'too_many_units',
    `At most ${maxUnits} units may wait for their payment, and ${held} do; order fewer, or pay first`,
    { maxUnits, held },
  );

export const tooManyOfOne = (sku: string, maxUnits: number, held: number): LastcallError =>
  new LastcallError(
    'too_many_units',
    `At most ${maxUnits} of "${sku}" may wait for your payment now, and ${held} do; order fewer`,
    { sku, maxUnits, held },
  );

export const paused = (retryAfterSeconds: number): LastcallError =>
  new LastcallError(
    'ordering_paused',
    `Too many of your orders in a row were not paid; order again in ${retryAfterSeconds} s`,
    { retryAfterSeconds },
  );
