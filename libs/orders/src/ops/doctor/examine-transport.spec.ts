import { examineTransport } from './examine-transport';

const stateOf = (DATABASE_URL: string, REDIS_URL: string): string[] =>
  examineTransport({ DATABASE_URL, REDIS_URL }).map(({ state }) => state);

it.each([
  ['postgres://a:b@127.0.0.1:5432/x', 'redis://localhost:6379'],
  ['postgres://a:b@[::1]/x', 'redis://[::1]'],
  ['postgres://a:b@db/x?host=/run/postgresql', 'redis://127.0.0.2'],
  ['postgres://a:b@db.example/x?sslmode=verify-full', 'rediss://cache.example'],
  ['postgres://a:b@10.0.0.7/x?sslmode=require', 'rediss://10.0.0.7'],
])('is content with %s and %s', (database, redis) => {
  expect(stateOf(database, redis)).toEqual(['ok', 'ok']);
});

it.each([
  ['postgres://a:b@db.example/x', 'redis://cache.example'],
  ['postgres://a:b@10.0.0.7/x?sslmode=prefer', 'redis://10.0.0.7'],
  ['postgres://a:b@localhost.evil.example/x?sslmode=disable', 'redis://127.0.0.1.evil.example'],
])('warns of passwords in plain text to %s and %s, and prints none', (database, redis) => {
  expect(stateOf(database, redis)).toEqual(['warning', 'warning']);
  const said = JSON.stringify(examineTransport({ DATABASE_URL: database, REDIS_URL: redis }));
  expect(said).not.toContain('a:b');
});
