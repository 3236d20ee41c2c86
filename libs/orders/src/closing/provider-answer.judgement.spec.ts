import { judgeAnswer } from './provider-answer.judgement';

describe('judgeAnswer', () => {
  it.each([
    ['PAID', 'captured', 'captured'],
    ['CLOSED_UNPAID', 'closed', 'closed'],
    ['REFUNDED', 'closed', 'closed'],
    ['NEVER_MADE', 'closed', 'closed'],
    ['UNPAID', 'unknown', 'unknown'],
    ['IN_FLIGHT', 'unknown', 'unknown'],
    ['UNKNOWN', 'unknown', 'unknown'],
    ['NOT_FOUND', 'unknown', 'closed'],
  ] as const)('takes %s for %s, and for %s after the expiry', (state, before, after) => {
    expect(judgeAnswer(state, false)).toBe(before);
    expect(judgeAnswer(state, true)).toBe(after);
  });
});
