import { examineTransport } from './examine-transport';

const stateOf = (DATABASE_URL: string, REDIS_URL: string): string[] =>
  examineTransport({ DATABASE_URL, REDIS_URL }).map(({ state }) => state);

it.each([
  ['postgres://a:b@127.0.0.1:5432/x', 'redis://localhost:6379'],
  ['postgres://a:b@[::1]/x', 'redis://[::1]'],
  ['postgres://a:b@db/x?host=/run/postgresql', 'redis://127.0.0.2'],
  ['postgres://a:b@db.example/x?sslmode=verify-full', 'rediss://cache.example'],
  ['postgres://a:b@10.0.0.7/x?sslmode=require', 'rediss://10.0.0.7'],
  ['postgres://a:b@10.0.0.7/x?sslmode=prefer', 'rediss://10.0.0.7'],
  ['postgres://a:b@10.0.0.7/x?ssl=true', 'rediss://10.0.0.7'],
  ['postgres://a:b@10.0.0.7/x?sslrootcert=/dev/null', 'rediss://10.0.0.7'],
])('is content with %s and %s', (database, redis) => {
  expect(stateOf(database, redis)).toEqual(['ok', 'ok']);
});

it.each([
  ['postgres://a:b@db.example/x', 'redis://cache.example'],
  ['postgres://a:b@10.0.0.7/x?ssl=0', 'redis://10.0.0.7'],
  ['postgres://a:b@localhost.evil.example/x?sslmode=disable', 'redis://127.0.0.1.evil.example'],
])('warns of passwords in plain text to %s and %s, and prints none', (database, redis) => {
  expect(stateOf(database, redis)).toEqual(['warning', 'warning']);
  const said = JSON.stringify(examineTransport({ DATABASE_URL: database, REDIS_URL: redis }));
  expect(said).not.toContain('a:b');
});

it.each([
  ['?sslmode=no-verify', 'without a look at its certificate'],
  ['?sslmode=require&uselibpqcompat=true', 'without a look at its certificate'],
  ['?sslmode=verify-full', 'TLS'],
  // node-postgres makes no connection of this one, which is told where Postgres is asked.
  ['?sslmode=verify-ca&uselibpqcompat=true', 'TLS'],
])('says of %s what stands behind the address', (params, detail) => {
  const [check] = examineTransport({
    DATABASE_URL: `postgres://a:b@db.example/x${params}`,
    REDIS_URL: undefined,
  });
  expect(check?.detail).toContain(detail);
  expect(check?.detail.includes('without a look')).toBe(detail !== 'TLS');
});
