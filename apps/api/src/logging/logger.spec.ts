import { Writable } from 'node:stream';
import { SETTING_NAMES } from '@app/orders';
import { QueryFailedError } from 'typeorm';
import { createLogger } from './logger';

const CANARY = 'canary-7f3a';

function logged(write: (logger: ReturnType<typeof createLogger>) => void): string {
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  });
  write(createLogger('debug', sink));
  return lines.join('');
}

describe('createLogger', () => {
  it.each([
    ['request headers', { req: { headers: { authorization: `Bearer ${CANARY}` } } }],
    ['headers', { headers: { cookie: CANARY, 'set-cookie': CANARY } }],
    ['signatures', { headers: { 'webhook-signature': CANARY, 'stripe-signature': CANARY } }],
    ['addresses with passwords', { config: { DATABASE_URL: `postgres://u:${CANARY}@h/d` } }],
    ['an outermost secret', { token: CANARY, password: CANARY }],
  ])('never prints the secrets of %s', (_, facts) => {
    const text = logged((logger) => logger.error(facts, 'failed'));
    expect(text).toContain('[redacted]');
    expect(text).not.toContain(CANARY);
  });

  it.each(SETTING_NAMES.filter((name) => /SECRET|KEY$/.test(name)))('never prints %s', (name) => {
    const text = logged((logger) => logger.error({ config: { [name]: CANARY } }, 'failed'));
    expect(text).toContain('[redacted]');
    expect(text).not.toContain(CANARY);
  });

  it('prints an error with its cause, for whoever has to mend it', () => {
    const cause = new Error('the socket closed');
    const text = logged((logger) => logger.error({ err: new Error('it failed', { cause }) }));
    expect(JSON.parse(text)).toMatchObject({ level: 'error', name: 'lastcall' });
    expect(text).toContain('it failed');
    expect(text).toContain('the socket closed');
  });

  it.each([
    [
      'a command that Redis refuses, as the login',
      Object.assign(new Error('WRONGPASS'), { command: { name: 'auth', args: ['shop', CANARY] } }),
    ],
    [
      'a statement that Postgres refuses',
      new QueryFailedError(
        'INSERT INTO orders (customer) VALUES ($1)',
        [CANARY],
        Object.assign(new Error('duplicate key'), { detail: `Key (customer)=(${CANARY}) exists.` }),
      ),
    ],
    ['several at once', new AggregateError([Object.assign(new Error('one'), { args: [CANARY] })])],
  ])('prints of %s nothing that was sent, and what was said', (_, error) => {
    const text = logged((logger) =>
      logger.error({ err: new Error('it failed', { cause: error }) }),
    );
    expect(text).not.toContain(CANARY);
    expect(text).toContain(JSON.stringify(error.message));
  });

  it('redacts passwords inside the addresses that an error speaks of', () => {
    const err = new Error(`cannot connect to postgres://lastcall:${CANARY}@127.0.0.1:5432/x`);
    expect(logged((logger) => logger.error({ err }))).not.toContain(CANARY);
  });
});
