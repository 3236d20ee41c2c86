import { randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { forgetOldCheckouts } from './page-access';

/** What nginx takes of an answer's head is 4 kB, where the page's other headers are a quarter of that. */
const MOST_BYTES = 2_000;

it('forgets the oldest of very many checkouts by and by: proxies refuse answers with long heads', () => {
  let names = Array.from({ length: 80 }, () => `__Host-lc-checkout-${randomUUID()}`);
  const newest = names.slice(-39);
  let links = 0;
  for (; names.length > newest.length && links < 10; links += 1) {
    const request = { headers: { cookie: names.map((name) => `${name}=x`).join('; ') } };
    const forgotten = forgetOldCheckouts(request as FastifyRequest, randomUUID());
    const bytes = forgotten.reduce((sum, one) => sum + `set-cookie: ${one}\r\n`.length, 0);
    expect(bytes).toBeLessThan(MOST_BYTES);
    names = names.filter((name) => !forgotten.some((one) => one.startsWith(`${name}=;`)));
  }
  expect(names).toEqual(newest);
});
