import { QueryFailedError } from 'typeorm';
import {
  isInfrastructureError,
  isSessionEnded,
  isTableLocked,
  mayHaveCommitted,
  sqlStateOf,
} from './database-errors';

const coded = (code: string) => Object.assign(new Error(`write ${code}`), { code });

describe('an error of the database', () => {
  it('has its SQLSTATE, however it is wrapped', () => {
    const failed = new QueryFailedError('SELECT 1', [], coded('57P01'));
    expect(sqlStateOf(new Error('no', { cause: failed }))).toBe('57P01');
    expect(sqlStateOf(coded('XX000'))).toBe('XX000');
  });

  it('is none of causes that lead back to themselves', () => {
    const [own, first] = [new Error('own'), new Error('first')];
    own.cause = own;
    first.cause = Object.assign(new Error('second', { cause: first }), { driverError: own });
    for (const error of [own, first]) {
      expect(sqlStateOf(error)).toBeUndefined();
      expect(isTableLocked(error)).toBe(false);
      expect(isInfrastructureError(error)).toBe(false);
    }
    const said = Object.assign(new Error('said'), { code: '55P03', routine: 'ProcessInterrupts' });
    said.cause = said;
    expect(isTableLocked(said)).toBe(true);
  });

  it.each(['EPIPE', 'EBUSY', 'ECONNRESET'])('is no error of a socket (%s)', (code) => {
    expect(sqlStateOf(coded(code))).toBeUndefined();
  });

  it.each([
    coded('EPIPE'),
    coded('ECONNRESET'),
    // A name that the DNS does not know any more, as of a container that is stopped, and a network that is gone.
    coded('ENOTFOUND'),
    coded('EAI_AGAIN'),
    coded('ENETUNREACH'),
    coded('EADDRNOTAVAIL'),
    new Error('connect ENOENT /run/postgresql/.s.PGSQL.5432'),
    // This process has as many files and connections open as it may.
    new Error('connect EMFILE 127.0.0.1:5432 - Local (undefined:undefined)'),
    new Error('Client has encountered a connection error and is not queryable'),
    new Error('Client was closed and is not queryable'),
    // A password, a certificate or a name that was changed while we run.
    coded('28P01'),
    coded('28000'),
    coded('3D000'),
    coded('CERT_HAS_EXPIRED'),
    coded('DEPTH_ZERO_SELF_SIGNED_CERT'),
    coded('UNABLE_TO_VERIFY_LEAF_SIGNATURE'),
    coded('ERR_TLS_CERT_ALTNAME_INVALID'),
    // No version of TLS, or no cipher, that both sides take; a certificate of the client's own that is demanded.
    coded('EPROTO'),
    coded('ERR_SSL_UNSUPPORTED_PROTOCOL'),
    coded('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'),
    new Error('The server does not support SSL connections'),
  ])('means that it is away: %s', (error) => {
    expect(isInfrastructureError(error)).toBe(true);
    expect(isInfrastructureError(new QueryFailedError('SELECT 1', [], error))).toBe(true);
  });

  it.each(['EMFILE', 'ENFILE', 'EACCES', 'EPERM'])(
    'means that it is away: %s at each number of an address',
    (code) => {
      const each = ['::1', '127.0.0.1'].map((ip) => new Error(`connect ${code} ${ip}:5432`));
      // As Node says it.
      const error = Object.assign(new AggregateError(each), { code });
      expect(isInfrastructureError(error)).toBe(true);
    },
  );

  it.each(['GetNewTransactionId', 'GetNewMultiXactId'])(
    'means that it writes nothing until somebody vacuums: %s has no ID left',
    (routine) => {
      const said = Object.assign(coded('54000'), { routine });
      expect(isInfrastructureError(new QueryFailedError('INSERT', [], said))).toBe(true);
      expect(isSessionEnded(said)).toBe(false);
    },
  );

  it('is of the statement where that is what is too large', () => {
    const said = Object.assign(coded('54000'), { routine: 'index_form_tuple_context' });
    expect(isInfrastructureError(new QueryFailedError('INSERT', [], said))).toBe(false);
  });

  it.each([
    ...[coded('57P01'), coded('57P02'), coded('57P03'), coded('ECONNRESET')],
    new Error('Connection terminated unexpectedly'),
    new Error('Connection terminated within a transaction'),
    new Error('Query runner already released. Cannot run queries anymore.'),
  ])('means that Postgres was there, or is about to be: %s', (error) => {
    expect(isSessionEnded(error)).toBe(true);
    expect(isSessionEnded(new QueryFailedError('SELECT 1', [], error))).toBe(true);
  });

  it.each([
    ...[coded('ECONNREFUSED'), coded('ENOTFOUND'), coded('57014'), coded('53300')],
    ...[coded('28P01'), coded('3D000'), coded('23505')],
    new Error('Connection terminated due to connection timeout'),
    new Error('The server does not support SSL connections'),
  ])('says nothing of a session that has ended: %s', (error) => {
    expect(isSessionEnded(error)).toBe(false);
  });

  const failed = (error: Error) => new QueryFailedError('COMMIT', [], error);

  it.each([
    coded('ECONNRESET'),
    coded('57P01'),
    coded('08P01'),
    new Error('Query read timeout'),
    new Error('Connection terminated unexpectedly'),
  ])('leaves open what became of a COMMIT: %s', (error) => {
    expect(mayHaveCommitted(failed(error))).toBe(true);
  });

  it.each([
    coded('23505'),
    coded('40001'),
    coded('53100'),
    coded('57014'),
    coded('25P03'),
    new Error('Client was closed and is not queryable'),
    new Error('Query runner already released. Cannot run queries anymore.'),
  ])('says that a COMMIT was not carried out: %s', (error) => {
    expect(mayHaveCommitted(failed(error))).toBe(false);
  });
});
