import { once } from 'node:events';
import { connect } from 'node:net';
import { Logger } from '@nestjs/common';
import { QueryFailedError } from 'typeorm';
import { freePort } from '../../../../scripts/services/index.mjs';
import { UnansweredError } from '../draining/handle-claimed';
import { AlarmStoreError } from '../drivers/alarm-store.error';
import { noteSubject } from './why-failed';
import { loggedTelemetry } from './logged-telemetry';

/** As Node says that nobody listens at either address of a name, as `localhost` has two. */
async function refusedAtBoth(port: number): Promise<unknown> {
  const socket = connect({
    ...{ host: 'localhost', port, autoSelectFamily: true },
    lookup: (_host, _options, done) =>
      (done as unknown as (error: null, all: object[]) => void)(null, [
        { address: '127.0.0.1', family: 4 },
        { address: '127.0.0.2', family: 4 },
      ]),
  });
  const [error] = (await once(socket, 'error')) as [unknown];
  return error;
}

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
    const failed = Object.assign(new Error('division by zero'), { code: '22012' });
    telemetry.batchFailed('buggy', 1, new QueryFailedError('SELECT 1 / 0', [], failed));
    telemetry.batchFailed('silent', 1, UnansweredError.within(20_000, 'silent', []));
    telemetry.failed('timer driver', Object.assign(new Error('no'), { code: 'ECONNREFUSED' }));
    telemetry.failed('afterCommit', 'a text');
    expect(said.join('\n')).not.toContain('    at ');
    expect(said).toHaveLength(4);
    expect(said[3]).toBe('afterCommit: a text');
  });

  it('is what each address of a name answers that has several', async () => {
    const telemetry = loggedTelemetry();
    const port = await freePort();
    const refused = await refusedAtBoth(port);
    const both = `connect ECONNREFUSED 127.0.0.1:${port}; connect ECONNREFUSED 127.0.0.2:${port}`;
    telemetry.failed('timer driver', refused);
    telemetry.batchFailed('calling', 1, refused);
    telemetry.timerStore('unhealthy', new AlarmStoreError('It did not take a call', refused));
    expect(said[0]).toBe(`timer driver: ${both}`);
    expect(said[1]).toBe(`1 of kind "calling" failed and are tried again: ${both}`);
    expect(said[2]).toBe(`The timer's store is unhealthy: It did not take a call: ${both}`);
  });

  it('is what has caused a failure of a host’s code, behind where it was', async () => {
    const telemetry = loggedTelemetry();
    const port = await freePort();
    const failed: unknown = await fetch(`http://127.0.0.1:${port}/`).catch(
      (error: unknown) => error,
    );
    for (let times = 0; times < 2; times++) telemetry.batchFailed('calling', 1, failed);
    telemetry.deadlineHeld('calling', 'order-4711', failed);
    const cause = `connect ECONNREFUSED 127.0.0.1:${port}`;
    expect(said[0]).toMatch(/TypeError: fetch failed\n +at /);
    expect(said[1]).toBe(`1 of kind "calling" failed and are tried again: fetch failed: ${cause}`);
    for (const one of said) expect(one.split(cause)).toHaveLength(2);
  });

  it('names the subject also where its time limit has ended a call', async () => {
    const telemetry = loggedTelemetry();
    const signal = AbortSignal.timeout(1);
    await once(signal, 'abort');
    // What `fetch` rejects with then.
    noteSubject(signal.reason, 'order-4711');
    telemetry.batchFailed('calling', 1, signal.reason);
    expect(said[0]).toContain(', as that of "order-4711": ');
  });

  it('is a row that somebody holds, once a minute for each kind', () => {
    let uptimeMs = 0;
    const telemetry = loggedTelemetry(() => uptimeMs);
    const locked = Object.assign(new Error('canceling statement due to lock timeout'), {
      code: '55P03',
    });
    const tell = (kind: string) =>
      telemetry.batchFailed(kind, 1, new QueryFailedError('SELECT 1', [], locked));
    for (; uptimeMs < 120_000; uptimeMs += 5_000) tell('busy');
    tell('other');
    const words = (kind: string) =>
      `Deadlines of kind "${kind}" (1) need rows that somebody holds: tried again until these are free, told of once a minute`;
    expect(said).toEqual([words('busy'), words('busy'), words('other')]);
  });

  it('is the same failure once a minute, and how often it came meanwhile', () => {
    let uptimeMs = 0;
    const telemetry = loggedTelemetry(() => uptimeMs);
    const refused = () =>
      Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    for (; uptimeMs < 120_000; uptimeMs += 200) telemetry.failed('timer driver', refused());
    telemetry.failed('sweep', refused());
    expect(said).toEqual([
      'timer driver: connect ECONNREFUSED',
      'timer driver: connect ECONNREFUSED (and 299 times before that, since it was told of)',
      'sweep: connect ECONNREFUSED',
    ]);
  });

  it('is the same failure anew where it came alone', () => {
    let uptimeMs = 0;
    const telemetry = loggedTelemetry(() => uptimeMs);
    for (; uptimeMs < 200_000; uptimeMs += 100_000) telemetry.failed('afterCommit', 'no mail');
    expect(said).toEqual(['afterCommit: no mail', 'afterCommit: no mail']);
  });

  it('is that the timer’s store is well again', () => {
    const log = jest.spyOn(Logger.prototype, 'log').mockImplementation(note);
    const telemetry = loggedTelemetry();
    telemetry.timerStore('unhealthy', 'no answer');
    telemetry.timerStore('healthy');
    expect(log).toHaveBeenCalledTimes(1);
    expect(said).toEqual([
      "The timer's store is unhealthy: no answer",
      "The timer's store is well again",
    ]);
  });
});
