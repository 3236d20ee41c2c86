import { isOfSameRefund, parseRefundKey, refundKey } from './refund-key';

const ID = '01a22e69-7f1d-72b7-8f92-263a6b07924f';
const OTHER = '01a22e69-7f1e-7651-809b-6063cc60fc5e';

describe('the key of a refund', () => {
  // Whoever made them another way would send money again that an older version has sent.
  it.each([
    [1, ID],
    [2, `${ID}-2`],
    [10, `${ID}-10`],
  ])('is of attempt %i what it always was, and is read back', (attempt, key) => {
    expect(refundKey(ID, attempt)).toBe(key);
    expect(parseRefundKey(key)).toEqual({ refundId: ID, attempt });
  });

  it.each(['', 'theirs', `${ID}-`, `${ID}-x`, `x${ID}`, `${ID}-2-3`, `${ID}-12345`])(
    'is none of ours: %j',
    (key) => expect(parseRefundKey(key)).toBeUndefined(),
  );

  it('is of the same refund whichever attempt it is of', () => {
    expect(isOfSameRefund(refundKey(ID, 1), refundKey(ID, 3))).toBe(true);
    expect(isOfSameRefund('theirs', 'theirs')).toBe(true);
    expect(isOfSameRefund(refundKey(ID, 1), refundKey(OTHER, 1))).toBe(false);
    expect(isOfSameRefund('theirs', 'others')).toBe(false);
  });
});
