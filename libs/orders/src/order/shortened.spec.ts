import { answerTo } from '../http/error-problem';
import { BadRequestException } from '@nestjs/common';
import { z } from 'zod';
import { ConfigError, loadConfig } from '../config';
import { LastcallError } from './errors';
import { readInput } from './read-input';
import { shortened } from './shortened';

const LONG = 'x'.repeat(15_000);

const thrownBy = (act: () => unknown): unknown => {
  try {
    return act();
  } catch (error) {
    return error;
  }
};

describe('what an error echoes', () => {
  it('is whole where it is short, and else its two ends', () => {
    expect(shortened('a'.repeat(1_000))).toHaveLength(1_000);
    const cut = shortened(`begins ${LONG} ends`);
    expect(cut).toMatch(/^begins x+ … \(15,012 characters\) … x+ ends$/);
    expect(cut.length).toBeLessThan(1_050);
  });

  it('is cut between characters, and not within one', () => {
    for (const before of ['', 'x', 'xx', 'xxx']) {
      expect(shortened(before + '😀'.repeat(900))).not.toMatch(/\p{Cs}/u);
    }
  });

  it.each([
    ['an unknown field', { [LONG]: 1 }],
    ['fields with long names above a wrong one', { map: { [LONG]: { [LONG]: 'a' } } }],
  ])('is cut in the answer to %s', (_, input) => {
    const schema = z.strictObject({
      map: z.record(z.string(), z.record(z.string(), z.number())).optional(),
    });
    const { problem } = answerTo(thrownBy(() => readInput(schema, input)));
    expect(problem).toMatchObject({ code: 'invalid_request', status: 400 });
    expect(problem.detail).toMatch(/^(map\.)?x+ … .*: (is not a field|must be a number)/);
    expect(JSON.stringify(problem).length).toBeLessThan(1_500);
  });

  it('is cut in refusals, and in what Nest and Fastify say', () => {
    for (const error of [
      new LastcallError('not_found', `There is no ${LONG}`),
      new BadRequestException(`Unexpected ${LONG}`),
    ]) {
      expect(answerTo(error).problem.detail).toMatch(/ … \(15,\d+ characters\) … x+$/);
    }
  });

  it('is cut in each setting that is wrong', () => {
    const error = thrownBy(() =>
      loadConfig({ DATABASE_URL: 'postgres://x/x', PAYMENT_WINDOW: LONG, ROLES: LONG }),
    );
    expect(error).toBeInstanceOf(ConfigError);
    const { message } = error as ConfigError;
    expect(message).toContain('PAYMENT_WINDOW must be a duration such as 250ms');
    expect(message).toContain('ROLES must be "api", "worker"');
    expect(message.length).toBeLessThan(4_000);
  });
});
