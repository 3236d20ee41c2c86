import { causesOf } from '@app/timeout';

/** What Redis has refused, and how to mend that. */
export interface RedisRefusal {
  readonly what: string;
  readonly mend: string;
}

const ANOTHER_LOGIN: RedisRefusal = {
  what: 'Redis refuses the login',
  mend: 'check the user and the password in REDIS_URL, and ACL LIST there',
};

/** By the word that an answer begins with. */
const REFUSALS: Readonly<Record<string, RedisRefusal>> = {
  MISCONF: {
    what: 'Redis cannot write its disk, and takes no writes',
    mend: 'make room on the disk of Redis (INFO persistence and its log tell what failed): it goes on by itself then',
  },
  OOM: {
    what: 'Redis is full',
    mend: 'raise maxmemory, or find what fills it (redis-cli --bigkeys)',
  },
  NOAUTH: ANOTHER_LOGIN,
  WRONGPASS: ANOTHER_LOGIN,
  NOPERM: {
    what: 'The user of REDIS_URL lacks a right',
    mend: 'docs/operations.md, "Redis", tells what it needs (ACL SETUSER)',
  },
  DENIED: {
    what: 'Redis takes connections from its own machine alone (protected-mode)',
    mend: 'give it a password (requirepass) that REDIS_URL has as well, or, on a network that you trust, protected-mode no',
  },
  READONLY: {
    what: 'Redis takes no writes here: it is a replica',
    mend: 'point REDIS_URL at the primary',
  },
};

/** Answers to SELECT, which begin as many others do. */
const NO_SUCH_DATABASE = /^ERR (DB index is out of range|invalid DB index|SELECT is not allowed)/;
const ANOTHER_DATABASE: RedisRefusal = {
  what: 'Redis has no database of that number',
  mend: 'end REDIS_URL in one that it has (CONFIG GET databases; 0 to 15 unless set), which in a cluster is 0 alone',
};

const NO_CONNECTION_LEFT = /^ERR max number of clients/;
const OUT_OF_CONNECTIONS: RedisRefusal = {
  what: 'Redis has no connection left',
  mend: 'raise maxclients, or end what holds them (CLIENT LIST): each process has up to eight',
};

/** Undefined for whatever else goes wrong, a server that is away included. */
export function redisRefusal(error: unknown): RedisRefusal | undefined {
  for (const cause of causesOf(error)) {
    const refused = REFUSALS[cause.message.split(' ', 1)[0] ?? ''];
    if (refused) return refused;
    if (NO_SUCH_DATABASE.test(cause.message)) return ANOTHER_DATABASE;
    if (NO_CONNECTION_LEFT.test(cause.message)) return OUT_OF_CONNECTIONS;
  }
  return undefined;
}
