import { Injectable } from '@nestjs/common';
import type { FastifyRequest, RouteOptions } from 'fastify';

/**
 * The routes that Fastify serves, written down as they are registered: to tell an unknown address
 * (404) from a known one asked with the wrong method (405), and for the test that lists them all.
 */
@Injectable()
export class KnownRoutes {
  readonly #methods = new Map<string, Set<string>>();

  /** For Fastify's `onRoute` hook. */
  add(route: Pick<RouteOptions, 'method' | 'url'>): void {
    const methods = this.#methods.get(route.url) ?? new Set();
    for (const method of [route.method].flat()) methods.add(method);
    this.#methods.set(route.url, methods);
  }

  /** Every route as `GET /v1/orders/:id`. */
  list(): string[] {
    return [...this.#methods].flatMap(([url, methods]) => [...methods].map((m) => `${m} ${url}`));
  }

  /** The methods of the route at a request's path, when there is one and no route has matched. */
  allowedMethods(request: FastifyRequest): string[] {
    if (!request.is404) return [];
    const path = request.url.split('?', 1)[0] ?? '';
    const segments = path.split('/');
    for (const [url, methods] of this.#methods) {
      if (!url.includes('*') && matches(url.split('/'), segments)) return [...methods].sort();
    }
    return [];
  }
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  if (pattern.length !== segments.length) return false;
  return pattern.every((part, i) =>
    part.startsWith(':') ? segments[i] !== '' : part === segments[i],
  );
}
