import { LastcallError } from '../order/errors';

/* Why a wait is not ended as a person wants it. */

export const nothingToRefundBy = (): LastcallError =>
  new LastcallError(
    'invalid_request',
    'Its id at the provider is not known before its webhook: send it back there by hand, then "keep"',
  );

export const nothingTaken = (): LastcallError =>
  new LastcallError('invalid_request', 'Nothing was taken, so nothing can go back: "keep" it');

export const otherAttempts = (id: string): LastcallError =>
  new LastcallError(
    'not_found',
    `refund:${id} waits for something else by now: more has been told of its attempts, so look at it again`,
  );

export const nobodyWaits = (id: string): LastcallError =>
  new LastcallError('not_found', `Nothing of the id ${id} waits for a person (any more)`);
