import { CommitUnknownError } from '@app/timeout';
import { NotFoundException } from '@nestjs/common';
import { QueryFailedError } from 'typeorm';
import { ERROR_STATUS, type ErrorCode, LastcallError } from '../order/errors';
import { answerTo } from './error-problem';

const databaseError = (code: string, message: string) =>
  new QueryFailedError(
    'SELECT secret FROM orders',
    [],
    Object.assign(new Error(message), { code }),
  );

describe('answerTo', () => {
  it.each(Object.entries(ERROR_STATUS) as [ErrorCode, number][])(
    'answers %s with %i, its code and its words',
    (code, status) => {
      const { problem } = answerTo(new LastcallError(code, 'what is wrong'));
      expect(problem).toMatchObject({
        type: `urn:lastcall:problem:${code}`,
        status,
        code,
        detail: 'what is wrong',
      });
      expect(problem.title).toMatch(/^[A-Z][a-z ]+$/);
    },
  );

  it('passes on the facts of a refusal, which cannot pose as its code', () => {
    const { problem } = answerTo(
      new LastcallError('out_of_stock', 'x', { sku: 'A', code: 'fake' }),
    );
    expect(problem).toMatchObject({ sku: 'A', code: 'out_of_stock' });
  });

  it.each(['busy', 'unavailable', 'rate_limited', 'too_many_open_orders'] as const)(
    'says when to try again after %s',
    (code) => {
      const { headers } = answerTo(new LastcallError(code, 'x'));
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      const exact = answerTo(new LastcallError(code, 'x', { retryAfterSeconds: 7 }));
      expect(exact.headers['retry-after']).toBe('7');
    },
  );

  it('challenges who has no good token, and names the scope that is missing', () => {
    const none = answerTo(new LastcallError('unauthorized', 'x'));
    expect(none.headers['www-authenticate']).toBe('Bearer realm="lastcall"');
    const bad = answerTo(new LastcallError('unauthorized', 'x', { error: 'invalid_token' }));
    expect(bad.headers['www-authenticate']).toContain('error="invalid_token"');
    const poor = answerTo(new LastcallError('forbidden', 'x', { requiredScope: 'ops' }));
    expect(poor.headers['www-authenticate']).toContain('error="insufficient_scope", scope="ops"');
  });

  it('refuses a text that the database cannot keep, which the log has as well', () => {
    const error = databaseError('22P05', 'character with byte sequence 0xe6 has no equivalent');
    const { problem, isFault } = answerTo(error);
    expect(problem).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(JSON.stringify(problem)).not.toContain('0xe6');
    expect(isFault).toBe(true);
  });

  it('says so where the database has not answered to COMMIT', () => {
    const { problem, headers } = answerTo(new CommitUnknownError(new Error('Query read timeout')));
    expect(problem).toMatchObject({ status: 503, code: 'unavailable' });
    expect(problem.detail).toContain('whether it was done is not known');
    expect(headers['retry-after']).toBe('2');
  });

  it.each([
    ['57P01', 'terminating connection due to administrator command'],
    ['53300', 'sorry, too many clients already'],
    ['08006', 'connection failure'],
  ])('answers 503 when the database says %s', (code, message) => {
    const answer = answerTo(databaseError(code, message));
    expect(answer.problem).toMatchObject({ status: 503, code: 'unavailable' });
    expect(answer.headers['retry-after']).toBeDefined();
  });

  it.each(['ECONNREFUSED 127.0.0.1:5432', 'timeout exceeded when trying to connect'])(
    'answers 503 when the connection fails: %s',
    (message) => expect(answerTo(new Error(message)).problem.status).toBe(503),
  );

  it('answers busy when a transaction lost all its attempts', () => {
    expect(answerTo(databaseError('40001', 'could not serialize access')).problem.code).toBe(
      'busy',
    );
  });

  it.each([
    new Error('password is hunter2'),
    databaseError('42601', 'syntax error in hunter2'),
    'hunter2',
    undefined,
  ])('tells nothing of an error nobody expected, and has it logged', (error) => {
    const answer = answerTo(error);
    expect(answer).toMatchObject({ isFault: true, problem: { code: 'internal_error' } });
    expect(JSON.stringify(answer)).not.toMatch(/hunter2|SELECT|stack/);
  });

  it('does not log refusals', () => {
    expect(answerTo(new LastcallError('order_not_found', 'x')).isFault).toBe(false);
    expect(answerTo(new LastcallError('unavailable', 'shutting down')).isFault).toBe(false);
    expect(answerTo(new NotFoundException()).isFault).toBe(false);
  });
});
