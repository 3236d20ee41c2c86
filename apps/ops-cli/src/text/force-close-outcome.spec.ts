import type { CloseResult } from '@app/orders';
import { nextStep, summarize } from './force-close-outcome';

const ID = '0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f';
const result = (outcome: CloseResult['outcome'], why: CloseResult['why'] = null): CloseResult => ({
  ...{ orderId: ID, outcome, status: null, why, message: null },
});
const next = (asked: number, isInterrupted: boolean, ...orders: CloseResult[]) => {
  const { outcome, exitCode } = summarize(orders, { dryRun: false, asked, isInterrupted });
  return [exitCode, nextStep(outcome)];
};
const AGAIN = expect.stringContaining('run it again, and what is closed by then is skipped');

it('says how to go on where orders were not reached, whatever became of the others', () => {
  expect(next(3, true, result('closed'))).toEqual([130, AGAIN]);
  expect(next(3, true, result('closed'), result('skipped', 'order_not_closable'))).toEqual([
    130,
    AGAIN,
  ]);
  expect(next(3, false, result('closed'))).toEqual([5, AGAIN]);
  expect(next(2, false, result('closed'), result('failed', 'busy'))).toEqual([5, AGAIN]);
});

it('points to what is there to be looked at', () => {
  expect(next(1, true, result('closed'))).toEqual([0, undefined]);
  const [, skipped] = next(
    2,
    false,
    result('skipped', 'order_not_found'),
    result('skipped', 'order_not_closable'),
  );
  expect(skipped).toBe(`lastcall orders show ${ID}`);
  expect(next(1, false, result('skipped', 'order_not_found'))).toEqual([3, 'lastcall orders list']);
});
