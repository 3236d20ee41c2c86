import { Logger } from '@nestjs/common';
import { QueryFailedError } from 'typeorm';
import { UnansweredError } from '../handle-claimed';
import { loggedTelemetry } from './logged-telemetry';

/** As a host's code fails. */
function endTrial(subject: string): Error {
  return new TypeError(`no trial of ${subject}`);
}

describe('what Nest’s logger hears of deadlines that fail', () => {
  const said: string[] = [];
  const note = (text: unknown): void => void said.push(String(text));
  beforeEach(() => {
    said.length = 0;
    jest.spyOn(Logger.prototype, 'warn').mockImplementation(note);
    jest.spyOn(Logger.prototype, 'error').mockImplementation(note);
  });
  afterEach(() => jest.restoreAllMocks());

  it("is where a host's code has failed, once for all batches that fail so", () => {
    const telemetry = loggedTelemetry();
    const bug = endTrial('ann');
    telemetry.batchFailed('buggy', 3, bug);
    telemetry.batchFailed('buggy', 4, endTrial('bob'));
    telemetry.batchFailed('other', 1, bug);
    telemetry.deadlineHeld('buggy', 'order-4711', bug);
    telemetry.handlerFails('buggy', bug);
    const frame = 'logged-telemetry.spec';
    expect(said.map((one) => one.includes(frame))).toEqual([true, false, true, true, true]);
    expect(said[0]).toMatch(
      /^3 of kind "buggy" failed and are tried again: TypeError: no trial of ann/,
    );
    expect(said[1]).toMatch(/^4 of kind "buggy" .*: no trial of bob$/);
    expect(said[3]).toMatch(/^"buggy" of order-4711 failed too often and is held: TypeError: /);
  });

  it('is what a server says, or that nobody answers, and nothing of our own code', () => {
    const telemetry = loggedTelemetry();
    const locked = Object.assign(new Error('canceling statement due to lock timeout'), {
      code: '55P03',
    });
    telemetry.batchFailed('busy', 1, new QueryFailedError('SELECT 1', [], locked));
    telemetry.batchFailed('silent', 1, UnansweredError.within(20_000, 'silent', []));
    telemetry.failed('timer driver', Object.assign(new Error('no'), { code: 'ECONNREFUSED' }));
    telemetry.failed('afterCommit', 'a text');
    expect(said.join('\n')).not.toContain('    at ');
    expect(said).toHaveLength(4);
    expect(said[3]).toBe('afterCommit: a text');
  });
});
