import { causesOf, isOutOfTransactionIds, isTableLocked, sqlStateOf, wordsOf } from '@app/timeout';
import { tlsTrouble, type TlsTrouble } from './tls-trouble';

/** What Postgres, or the connection to it, has refused, and how to mend that. */
export interface PostgresRefusal {
  readonly what: string;
  readonly mend: string;
}

const ANOTHER_LOGIN: PostgresRefusal = {
  what: 'Postgres refuses the login',
  mend:
    'check the user and the password in DATABASE_URL, and pg_hba.conf there; one that takes connections by TLS ' +
    'alone wants ?sslmode=verify-full behind the address, and one that asks for a certificate sslcert and sslkey',
};
const NOT_TRUSTED: PostgresRefusal = {
  what: 'The certificate of Postgres is not trusted',
  mend:
    'name the authority behind DATABASE_URL (?sslmode=verify-full&sslrootcert=FILE) or in NODE_EXTRA_CA_CERTS; ' +
    'on a network that you trust, ?sslmode=no-verify does without',
};

const OF_ANOTHER_HOST: PostgresRefusal = {
  what: 'The certificate of Postgres is of another host',
  mend: 'name Postgres in DATABASE_URL as its certificate does, or let it have one of that name',
};

const WITHOUT_TLS: PostgresRefusal = {
  what: 'Postgres takes no connections by TLS',
  mend: 'let it have a certificate (ssl, ssl_cert_file); on a network that you trust, take sslmode out of DATABASE_URL',
};

const LOCKED_TABLE: PostgresRefusal = {
  what: 'Somebody has locked a table that this needs',
  mend: 'wait until it is free; "table locks" of lastcall doctor names the session that has it',
};

const OUT_OF_TRANSACTION_IDS: PostgresRefusal = {
  what: 'Postgres has no transaction ID left, and takes no writes',
  mend:
    'end what keeps old rows (pg_replication_slots, pg_prepared_xacts, the oldest backend_xmin of pg_stat_activity): autovacuum ' +
    'goes on by itself then, and VACUUM (FREEZE) in each database, as a superuser, is quicker; Postgres need not be stopped for it',
};

const OUT_OF_FILES: PostgresRefusal = {
  what: 'This process may open no more connections',
  mend: 'let it open more files (LimitNOFILE of systemd, nofile of a container, ulimit -n), and start it again',
};

/** By SQLSTATE. */
const REFUSALS: Readonly<Record<string, PostgresRefusal>> = {
  '28P01': ANOTHER_LOGIN,
  '28000': ANOTHER_LOGIN,
  '3D000': {
    what: 'There is no such database',
    mend: 'check the name at the end of DATABASE_URL, or make it (CREATE DATABASE)',
  },
  '53300': {
    what: 'Postgres has no connection left',
    mend: 'raise max_connections, or end what holds them (pg_stat_activity): each process has up to 46',
  },
  '53100': {
    what: 'The disk of Postgres is full',
    mend:
      'make room there: its log says where (WAL that nobody takes any more fills it, too: pg_replication_slots, ' +
      'pg_stat_archiver); it goes on by itself then',
  },
  '25006': {
    what: 'Postgres takes no writes here',
    mend:
      'point DATABASE_URL at the primary; where it leads there, take default_transaction_read_only from this user ' +
      'or database, which a full disk may have brought',
  },
  '42501': {
    what: 'The user of DATABASE_URL lacks a right',
    mend:
      'run node dist/apps/api/src/migrate.js as the owner, with DATABASE_ROLE=lastcall_app: it grants what our tables and functions need; ' +
      'temporary tables are granted by GRANT TEMPORARY ON DATABASE',
  },
};

const BY_TLS: Readonly<Record<TlsTrouble, PostgresRefusal>> = {
  expired: {
    what: 'The certificate of Postgres has expired',
    mend: 'let Postgres have a new one (ssl_cert_file), and reload it; where it has not, look at the clock of this machine',
  },
  not_yet: {
    what: 'The certificate of Postgres is not valid yet',
    mend: 'look at the clock of this machine, or let Postgres have one that is (ssl_cert_file)',
  },
  other_host: OF_ANOTHER_HOST,
  not_trusted: NOT_TRUSTED,
  own_certificate: {
    what: 'Postgres does not take our certificate',
    mend:
      'it wants one that has not expired, in sslcert and sslkey behind DATABASE_URL, of an authority that it knows (ssl_ca_file); ' +
      'files that are replaced are read with the next connection',
  },
  no_connection: {
    what: 'No TLS connection to Postgres comes about',
    // By TLS 1.2 nobody says that a certificate is missing.
    mend:
      'it has to take TLS 1.2 or newer (ssl_min_protocol_version, ssl_max_protocol_version, ssl_ciphers); one that demands a certificate ' +
      'of its clients wants sslcert and sslkey behind DATABASE_URL',
  },
};

/** As node-postgres says it. */
const NO_TLS = /does not support SSL connections/;
/** As Node does. */
const NO_FILE = /connect E[MN]FILE/;

/** Undefined for whatever else goes wrong, a server that is away included. */
export function postgresRefusal(error: unknown): PostgresRefusal | undefined {
  if (isTableLocked(error)) return LOCKED_TABLE;
  if (isOutOfTransactionIds(error)) return OUT_OF_TRANSACTION_IDS;
  const state = sqlStateOf(error);
  if (state !== undefined) return REFUSALS[state];
  const trouble = tlsTrouble(error);
  if (trouble) return BY_TLS[trouble];
  const said = [...causesOf(error)].map(wordsOf).join(' ');
  if (NO_FILE.test(said)) return OUT_OF_FILES;
  return NO_TLS.test(said) ? WITHOUT_TLS : undefined;
}
