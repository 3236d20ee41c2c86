import { reachedAt } from './reached-at';

it.each([
  ['127.0.0.1', 'http://127.0.0.1:3000'],
  ['192.0.2.7', 'http://192.0.2.7:3000'],
  ['::1', 'http://[::1]:3000'],
  ['0.0.0.0', 'http://127.0.0.1:3000'],
  ['::', 'http://127.0.0.1:3000'],
])('what listens at %s is reached at %s', (HOST, url) => {
  expect(reachedAt({ HOST, PORT: 3_000 })).toBe(url);
});
